"""Models on the Hugging Face Hub: push, download and verify, through huggingface_hub.

A repository has the model directory, byte for byte, in its folder ``model``, and a page about it in ``README.md``. The
page may be edited on the Hub; the files of the folder are checked against its manifest after every download. Tokens,
the cache, the address of the Hub and the offline mode come from huggingface_hub: this module neither reads nor
stores a token.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from vse_ens import __version__
from vse_ens.errors import ConfigError, DataError, HubError, ModelError, optional_library
from vse_ens.model.loaded import LoadedModel
from vse_ens.model.store import MODEL, StoredModel, load_model, save_model

FOLDER = "model"
"""The folder of a repository that has the model directory."""
TAGS = ("vse-ens", "image-annotation", "tag-recommendation", "embeddings")


@dataclass(frozen=True)
class CardFacts:
    """What the page of a model says and the model itself does not know."""

    license: str | None = None
    """The identifier of a license, such as ``cc-by-4.0``; the page names none unless it is given."""
    dataset: str | None = None
    """The data set on the Hub that the model was trained on, such as ``USER/NAME``."""
    tags: tuple[str, ...] = ()
    """Tags beside those of every model."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Metrics on a test set, by name; without them, the page has those of the validation during training."""


@dataclass(frozen=True)
class Pushed:
    """A model on the Hub."""

    repo: str
    url: str
    """The address of the commit."""
    commit: str
    files: int
    size: int
    """Bytes of all files."""


def push(
    model: str | Path,
    repo: str,
    *,
    facts: CardFacts | None = None,
    private: bool = False,
    revision: str | None = None,
    message: str | None = None,
) -> Pushed:
    """Verify a model directory and upload it in one commit; create ``USER/NAME`` and the branch if they are missing.

    ``private`` matters for a new repository only. ``revision`` is the branch, by default the main one. The IDs of all
    images and their labels are part of a model. Where their pictures are on this machine is left out.
    """
    hub = _library()
    stored = _verified(Path(model))
    if hub.get_token() is None:
        raise HubError("pushing to the Hub needs a token; run hf auth login, or set HF_TOKEN")
    with _local_copy(Path(model), stored) as folder, _translated(repo, revision):
        api = hub.HfApi(library_name="vse-ens", library_version=__version__)
        name = api.create_repo(repo, private=private or None, exist_ok=True).repo_id
        if revision is not None:
            api.create_branch(name, branch=revision, exist_ok=True)
        page = _page(stored, name, facts or CardFacts()).encode()
        files = {f"{FOLDER}/{file}": folder / file for file in sorted(MODEL.files)}
        operations = [hub.CommitOperationAdd("README.md", page)]
        operations += [hub.CommitOperationAdd(path, str(file)) for path, file in files.items()]
        with warnings.catch_warnings():
            # The vocabularies are Arrow files; the library takes them for a data set.
            warnings.filterwarnings("ignore", "It seems that you are about to commit a data file", UserWarning)
            commit = api.create_commit(
                name, operations, commit_message=message or f"Model of vse-ens {__version__}", revision=revision
            )
        size = len(page) + sum(file.stat().st_size for file in files.values())
        return Pushed(name, commit.commit_url, commit.oid, len(operations), size)


def download(repo: str, revision: str | None = None) -> Path:
    """Return the verified model directory of a repository, in the cache of huggingface_hub.

    Files that are there already are not downloaded again, and without a network the cache is enough. A damaged file is
    downloaded once more.
    """
    hub = _library()
    folder = _snapshot(hub, repo, revision, force=False)
    try:
        _verified(folder)
    except ModelError:
        try:
            folder = _snapshot(hub, repo, revision, force=True)
            _verified(folder)
        except ModelError as error:
            raise ModelError(
                f"the model of {repo} on the Hub is damaged ({error}); ask its owner to push it again"
            ) from None
        except HubError as error:
            raise HubError(f"the copy of {repo} in the cache is damaged and cannot be replaced: {error}") from None
    return folder


def pull(repo: str, out: str | Path, *, revision: str | None = None) -> None:
    """Write the model of a repository to a directory, verified and atomically."""
    save_model(out, load_model(download(repo, revision)))


def download_network(
    repo: str, names: Sequence[str], external: Sequence[str], beside: Sequence[str], revision: str | None = None
) -> Path:
    """Return the first of the files ``names`` of a repository, in the cache of huggingface_hub.

    Files of its name with an ``external`` ending, and files called ``beside``, in the folder of the repository or of
    that file, are downloaded too, from the same commit.
    The content of each is compared with the hash that the Hub states.
    """
    hub = _library()
    for name in names:
        path = _file(hub, repo, name, revision)
        if path is not None:
            folder, commit = name.rpartition("/")[0], path.parents[name.count("/")].name
            for one in (*(name + end for end in external), *beside, *(f"{folder}/{one}" for one in beside if folder)):
                _file(hub, repo, one, commit)
            return path
    raise HubError(f"{repo} on the Hub has none of {', '.join(names)}; choose a repository with an ONNX network")


def _file(hub: Any, repo: str, name: str, revision: str | None) -> Path | None:
    """Return a file of a repository, verified, or None if there is none; a damaged one is downloaded once more."""
    for force in (False, True):
        with _translated(repo, revision):
            try:
                path = Path(hub.hf_hub_download(repo, name, revision=revision, force_download=force))
            except hub.errors.LocalEntryNotFoundError:
                raise
            except hub.errors.EntryNotFoundError:
                return None
        if _is_intact(path):
            return path
    raise HubError(f"the file {name} of {repo} does not have the hash that the Hub states; ask its owner to upload it")


def _is_intact(path: Path) -> bool:
    """Return whether a file has the hash by which the cache names it: SHA-256, or that of git for small files."""
    stated = path.resolve().name
    with path.open("rb") as file:
        if len(stated) == 64:
            return hashlib.file_digest(file, "sha256").hexdigest() == stated
        git = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
        while block := file.read(1 << 20):
            git.update(block)
    return git.hexdigest() == stated


def read_metrics(path: Path) -> dict[str, float]:
    """Return the metrics of a file that ``vse evaluate --json`` printed."""
    try:
        metrics = json.loads(path.read_text(encoding="utf-8"))["metrics"]
        return {str(name): float(value) for name, value in metrics.items()}
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DataError(f"{path} has no metrics; give it the output of vse evaluate --json") from None


def _snapshot(hub: Any, repo: str, revision: str | None, *, force: bool) -> Path:
    """Return the folder of the model in the cache; nothing but the files of a model and the page is downloaded."""
    wanted = ["README.md", *(f"{FOLDER}/{name}" for name in sorted(MODEL.files))]
    with _translated(repo, revision):
        snapshot = hub.snapshot_download(
            repo,
            revision=revision,
            allow_patterns=wanted,
            force_download=force,
            library_name="vse-ens",
            library_version=__version__,
        )
    folder = Path(snapshot) / FOLDER
    if not (folder / MODEL.document).exists():
        raise HubError(
            f"{repo} on the Hub is not a model of vse-ens: it has no {FOLDER}/{MODEL.document}; check the name"
        )
    return folder


def _verified(folder: Path) -> StoredModel:
    """Return the contents of a model directory, after reading every byte."""
    stored = load_model(folder)
    LoadedModel.of_stored(stored, folder)
    return stored


@contextmanager
def _local_copy(model: Path, stored: StoredModel) -> Iterator[Path]:
    """Return the directory to upload: the model's own, or a copy that does not say where the pictures are."""
    if stored.known.pictures is None:
        yield model
        return
    with tempfile.TemporaryDirectory(prefix="vse-") as temporary:
        copy = Path(temporary) / FOLDER
        settings = {name: value for name, value in stored.settings.items() if name != "pictures"}
        save_model(copy, replace(stored, settings=settings, known=replace(stored.known, pictures=None)))
        yield copy


def _page(stored: StoredModel, repo: str, facts: CardFacts) -> str:
    """Return the README.md of a repository: metadata for the Hub, how to use the model, and the card of the model."""
    from huggingface_hub import EvalResult, ModelCardData

    metrics = {**facts.metrics} or {**(stored.settings.get("validation") or {})}
    split = "test" if facts.metrics else "validation"
    results = [
        EvalResult(
            task_type="image-annotation",
            task_name="Suggest held-out labels",
            dataset_type=facts.dataset or "pairs",
            dataset_name=facts.dataset or "(image, label) pairs",
            dataset_split=split,
            metric_type=name,
            metric_name=name,
            metric_value=round(float(value), 6),
        )
        for name, value in metrics.items()
    ]
    data: Any = ModelCardData(
        library_name="vse-ens",
        license=facts.license,
        datasets=[facts.dataset] if facts.dataset else None,
        tags=[*TAGS, stored.settings["preset"], *facts.tags],
        model_name=repo.rpartition("/")[2],
        eval_results=results or None,
        metrics=sorted(metrics) or None,
    )
    header = data.to_dict()
    header.pop("model_name", None)  # the library leaves it in where there are no metrics
    local = 'Annotator.load("path/to/this/directory")'
    card = stored.card.replace(local, f'Annotator.from_pretrained("{repo}")')
    return f"---\n{_yaml(header)}---\n\n{card}"


def _yaml(header: Mapping[str, Any]) -> str:
    import yaml

    return str(yaml.safe_dump(dict(header), sort_keys=False, allow_unicode=True, width=10_000))


def _library() -> Any:
    missing = "models on the Hub need the library huggingface_hub"
    optional_library("huggingface_hub.errors", missing, "hub")
    return optional_library("huggingface_hub", missing, "hub")


@contextmanager
def _translated(repo: str, revision: str | None) -> Iterator[None]:
    """Turn the errors of huggingface_hub into sentences."""
    from httpx2 import HTTPError
    from huggingface_hub import errors

    try:
        yield
    except errors.HFValidationError:
        raise ConfigError(f"{repo!r} is not the name of a repository; write it as USER/NAME") from None
    except errors.GatedRepoError:
        _fail(repo, "asks for consent first: open its page on the Hub and accept its terms")
    except errors.RevisionNotFoundError:
        _fail(repo, f"has no revision {revision!r}; name a branch, a tag or a commit of it")
    except errors.RepositoryNotFoundError:
        _fail(repo, "does not exist, or is private; check the name, or log in with hf auth login")
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled) as error:
        if isinstance(error, errors.OfflineModeIsEnabled) or isinstance(error.__cause__, errors.OfflineModeIsEnabled):
            raise HubError(f"{repo} is not in the cache, and HF_HUB_OFFLINE forbids to download it; unset it") from None
        raise HubError(_unreachable(repo, error.__cause__ or error)) from None
    except errors.HfHubHTTPError as error:
        status = error.response.status_code
        if status in (401, 403):
            _fail(repo, f"is not open to your token ({_reason(error)}); give it write access, or choose another name")
        raise HubError(f"the Hub answered {status} for {repo} ({_reason(error)}); try again later") from None
    except (HTTPError, ConnectionError, TimeoutError) as error:
        raise HubError(_unreachable(repo, error)) from None
    except RuntimeError as error:  # of the storage of large files
        reason = " ".join(str(error.__cause__ or error).split())
        raise HubError(f"a file of {repo} was not transferred ({reason}); try again") from None


def _fail(repo: str, fault: str) -> NoReturn:
    raise HubError(f"the repository {repo} {fault}") from None


def _unreachable(repo: str, error: BaseException) -> str:
    reason = " ".join(str(error).split()) or type(error).__name__
    return f"the Hub cannot be reached for {repo} ({reason}); check the network, or HF_ENDPOINT"


def _reason(error: Any) -> str:
    return " ".join((error.server_message or "no reason given").split()).rstrip(".")
