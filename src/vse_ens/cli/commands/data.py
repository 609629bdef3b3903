"""What the commands that load a published data set share: read with progress, write the pairs, show the summary.

``vse data openimages``: the pairs in Open Images' image-level labels.

``vse data nuswide``: the pairs in NUS-WIDE's tags or concepts.

``vse data iaprtc12``: the pairs in IAPR TC-12's labels or descriptions.

``vse data scenes``: make the built-in data set, of any size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vse_ens.cli.commands.info import as_document
from vse_ens.cli.console import Console, Progress, facts

if TYPE_CHECKING:
    from vse_ens.data.annotations import Annotations


Tell = Callable[[int, int], None]

Downloaded = Annotated[
    Path,
    typer.Argument(metavar="PATH", show_default=False, help="The folder, or the file, that you downloaded."),
]
Out = Annotated[Path, typer.Option(metavar="FILE", show_default=False, help="The .parquet file to write.")]

_MEGABYTE = 1_000_000


def load(path: Path, out: Path, read: Callable[[Tell], Annotations], screen: Console) -> None:
    """Read a data set, write its pairs, and say what is in them."""
    from vse_ens.data.io.write import check_name, write_pairs

    check_name(out)
    with _reading(path, screen) as tell:
        data = read(tell)
    with screen.progress(f"writing {out}", data.pairs, "pairs") as done:
        write_pairs(out, data, done)
    summary = data.summary()
    screen.result({"file": str(out), **as_document(summary)}, facts([("file", str(out)), *summary.rows()]))


@contextmanager
def _reading(path: Path, screen: Console) -> Iterator[Tell]:
    """A progress of megabytes, of which the total comes with the first report."""
    with ExitStack() as stack:
        progress: Progress | None = None

        def tell(done: int, total: int) -> None:
            nonlocal progress
            if progress is None:
                progress = stack.enter_context(screen.progress(f"reading {path}", total // _MEGABYTE, "MB"))
            progress(done // _MEGABYTE)

        yield tell


def openimages(
    path: Downloaded,
    out: Out,
    *,
    source: Annotated[
        Literal["human", "machine", "both"] | None,
        typer.Option(
            metavar="NAME",
            show_default="human of a folder, all of a file",
            help="Labels that humans verified, that a machine gave, or both.",
        ),
    ] = None,
    split: Annotated[
        Literal["train", "validation", "test"] | None,
        typer.Option(metavar="NAME", show_default="all that are there", help="One split of a folder."),
    ] = None,
    min_confidence: Annotated[
        float, typer.Option(metavar="X", min=0, max=1, help="Leave out labels of a machine with less confidence.")
    ] = 0.5,
    names: Annotated[
        bool | None,
        typer.Option(
            "--names/--ids",
            show_default="names, where a file of names is there",
            help="Labels by name, or by id such as /m/01g317.",
        ),
    ] = None,
    screen: Console,
) -> None:
    """Read Open Images' image-level labels, versions 1 to 7.

    PATH is a folder with the csv files as they were downloaded, or one of them. Labels that humans verified as absent
    are left out.
    """
    from vse_ens.data.datasets.openimages import read_openimages

    load(
        path,
        out,
        lambda tell: read_openimages(
            path, source=source, split=split, min_confidence=min_confidence, names=names, progress=tell
        ),
        screen,
    )


def nuswide(
    path: Downloaded,
    out: Out,
    *,
    labels: Annotated[
        Literal["tags5018", "tags1k", "concepts81"] | None,
        typer.Option(
            metavar="NAME",
            show_default="tags5018 of a folder",
            help="tags5018: the users' tags of Final_Tag_List.txt. tags1k: AllTags1k.txt. concepts81: Labels_*.txt.",
        ),
    ] = None,
    split: Annotated[
        Literal["train", "test"] | None,
        typer.Option(metavar="NAME", show_default="all", help="The images of one image list."),
    ] = None,
    screen: Console,
) -> None:
    """Read NUS-WIDE's tags or concepts; images are named by their Flickr id.

    PATH is a folder with the unpacked archives, or All_Tags.txt or AllTags1k.txt.
    """
    from vse_ens.data.datasets.nuswide import read_nuswide

    load(path, out, lambda tell: read_nuswide(path, labels=labels, split=split, progress=tell), screen)


def iaprtc12(
    path: Downloaded,
    out: Out,
    *,
    form: Annotated[
        Literal["hvecs", "mat", "texts"] | None,
        typer.Option(
            metavar="NAME",
            show_default="the first of these that is there",
            help="hvecs: TagProp's files. mat: MATLAB's. texts: dictionary words in the .eng descriptions.",
        ),
    ] = None,
    split: Annotated[
        Literal["train", "test"] | None,
        typer.Option(metavar="NAME", show_default="all", help="The images of one image list."),
    ] = None,
    dictionary: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default="the one in PATH", help="The names of the labels, one a line."),
    ] = None,
    screen: Console,
) -> None:
    """Read IAPR TC-12's 291 labels, or look its dictionary up in the descriptions.

    PATH is a folder with the unpacked files, or one .hvecs, .mat or .eng file.
    """
    from vse_ens.data.datasets.iaprtc12 import read_iaprtc12

    load(
        path,
        out,
        lambda tell: read_iaprtc12(path, form=form, split=split, dictionary=dictionary, progress=tell),
        screen,
    )


def scenes(
    out: Annotated[Path, typer.Option(metavar="FILE", show_default=False, help="The file to write.")],
    *,
    images: Annotated[int, typer.Option(min=1, metavar="N", help="How many images.")] = 2000,
    labels: Annotated[
        int | None, typer.Option(min=1, metavar="N", show_default="some 900 plain words", help="How many labels.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Another seed gives other images.")] = 0,
    screen: Console,
) -> None:
    """Make the built-in data set: everyday scenes, and words for what is seen in them.

    Images are written as they are made, so that any number of them fits.
    """
    from vse_ens.data.datasets.scenes import write_scenes

    with screen.progress("making scenes", images, "images") as done:
        counts = write_scenes(out, images=images, labels=labels, seed=seed, progress=done)
    document = {"file": str(out), **counts._asdict(), "seed": seed}
    rows = [(name, f"{count:,}") for name, count in counts._asdict().items()]
    screen.result(document, facts([("file", str(out)), *rows]))
