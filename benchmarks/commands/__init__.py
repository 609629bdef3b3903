"""Commands of ``vse`` that a clone of the repository has and the wheel does not; `vse_ens.cli.app` names them."""
