from tests.cli.conftest import vse as vse
