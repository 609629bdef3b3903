"""The command ``vse`` and its tree of commands.

A command is imported when it runs or when its own help is shown, so that ``vse --help`` and every command start
quickly. For the same reason no command may import pyarrow or numba at module level.
"""

from __future__ import annotations

import gc
import io
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import click

from vse_ens import __version__
from vse_ens.cli import errors
from vse_ens.cli.errors import DEBUG_HELP, INTERRUPTED, CliState, set_debug
from vse_ens.cli.parameters import Command, example_text
from vse_ens.cli.repository import clone_command

# Python looks for garbage after every 700 new objects, and importing the libraries makes a million that stay.
_OBJECTS_BETWEEN_COLLECTIONS = 50_000


class _Entry(NamedTuple):
    """A command that is imported on first use: a function or a `click.Command` in `vse_ens.cli.commands`."""

    source: str
    """Module and name."""
    summary: str
    """The first sentence of its help, which ``vse --help`` shows without the import; a test compares them."""
    in_clone: bool = False
    """Whether it is in `benchmarks.commands` instead."""


class LazyGroup(click.Group):
    """A group that imports a command when it is asked for."""

    def __init__(
        self,
        name: str,
        summary: str,
        example: str,
        sections: dict[str, dict[str, _Entry | LazyGroup]],
        *,
        default: str = "",
        **settings: Any,
    ) -> None:
        super().__init__(name, help=summary, epilog=example_text(example), no_args_is_help=True, **settings)
        self._sections = sections
        self._entries = {name: entry for entries in sections.values() for name, entry in entries.items()}
        self._default = default

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of the help."""
        del ctx
        return [*self._entries]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        entry = self._entries.get(cmd_name)
        if not isinstance(entry, _Entry):
            return entry
        if entry.in_clone:
            return clone_command(entry.source, f"{ctx.command_path} {cmd_name}", entry.summary)
        module, _, name = entry.source.partition(":")
        found = getattr(import_module(f"vse_ens.cli.commands.{module}"), name)
        return found if isinstance(found, click.Command) else Command(found, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands and their summaries, which needs no import."""
        del ctx
        width = max(map(len, self._entries))
        for heading, entries in self._sections.items():
            rows = [
                (name.ljust(width), entry.help or "" if isinstance(entry, LazyGroup) else entry.summary)
                for name, entry in entries.items()
            ]
            with formatter.section(heading):
                formatter.write_dl(rows)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Add the name of the default command, if there is one."""
        if self._default and args and args[0] not in (*self._entries, *ctx.help_option_names):
            args = [self._default, *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; the message about an unknown one suggests the nearest."""
        if args[0] not in self._entries and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise click.exceptions.NoSuchCommand(args[0], possibilities=self._entries, ctx=ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; click would print an empty line on Ctrl-C."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.exceptions.Exit(INTERRUPTED) from None


_FEEDBACK = LazyGroup(
    "feedback",
    "Count verdicts, export accepted pairs, write verdicts to a collection, or collect them from one.",
    "vse feedback model.feedback.sqlite --out accepted.csv",
    {
        "Commands": {
            "show": _Entry("clean:show", "Show feedback counts and export accepted pairs."),
            "apply": _Entry("clean:apply_feedback", "Write accepted and rejected labels to a collection."),
            "collect": _Entry("clean:collect", "Read back what you did with written suggestions in your own program."),
        }
    },
    default="show",  # as it was before there was another command
)
_RULES = LazyGroup(
    "rules",
    "Propose aliases and implications, import or accept them as rules, list and undo rules.",
    "vse rules propose pairs.csv --out proposals.csv",
    {
        "Commands": {
            "propose": _Entry("rules:propose", "Propose aliases and implications between labels."),
            "apply": _Entry("rules:apply_proposals", "Accept and reject proposals, or add rules of your own."),
            "import": _Entry("rules:import_rules", "Import the aliases and implications of Danbooru, e621 or Hydrus."),
            "list": _Entry("rules:list_rules", "List the rules in force, then the rejected ones."),
            "undo": _Entry("rules:undo_rules", "Undo rules; without numbers, those that were added together last."),
        }
    },
)
_DATA = LazyGroup(
    "data",
    "Generate a data set, or convert one.",
    "vse data scenes --images 2000 --out pairs.csv",
    {
        "Commands": {
            "scenes": _Entry("data:scenes", "Generate the built-in data set of everyday scenes."),
            "convert": _Entry("data:convert", "Convert pairs from any format that vse reads to another one."),
            "openimages": _Entry(
                "published:openimages", "Convert the image-level labels of Open Images, versions 1 to 7.", in_clone=True
            ),
            "nuswide": _Entry(
                "published:nuswide",
                "Convert the tags or concepts of NUS-WIDE; image IDs are Flickr IDs.",
                in_clone=True,
            ),
            "iaprtc12": _Entry(
                "published:iaprtc12", "Convert the labels or descriptions of IAPR TC-12.", in_clone=True
            ),
        }
    },
)


def _print_version(context: click.Context, _: click.Parameter, requested: bool) -> None:
    if requested:
        click.echo(f"vse-ens {__version__}")
        context.exit()


def _complete(context: click.Context, parameter: click.Parameter, requested: bool) -> None:
    if requested:
        from vse_ens.cli import completion

        click.echo(
            (completion.install if parameter.name == "install_completion" else completion.script)(context.command)
        )
        context.exit()


def _flags() -> Iterable[click.Parameter]:
    for name, callback, help_text in (
        ("--version", _print_version, "Print the version and exit."),
        ("--debug", set_debug, DEBUG_HELP),
        ("--install-completion", _complete, "Install completion for the current shell."),
        ("--show-completion", _complete, "Print the completion script of the current shell."),
    ):
        yield click.Option([name], is_flag=True, is_eager=True, expose_value=False, callback=callback, help=help_text)


VSE = LazyGroup(
    "vse",
    "Learn which labels belong to which image from (image, label) pairs alone.",
    "vse demo",
    {
        "Get started": {
            "demo": _Entry("demo:demo", "Train on the built-in data set and show suggestions."),
            "info": _Entry("data:info", "Show a summary of a file of pairs or of a collection."),
            "doctor": _Entry("doctor:doctor", "Check the installation and this machine."),
        },
        "Train and measure": {
            "split": _Entry("data:split", "Split pairs into train.parquet and test.parquet."),
            "embed": _Entry("embed:embed", "Compute the features of pictures with an ONNX network."),
            "train": _Entry("train:train", "Train a model on pairs."),
            "evaluate": _Entry("evaluate:evaluate", "Measure how well a model ranks held-out labels."),
            "compare": _Entry("compare:compare", "Compare models and baselines on one split."),
            "tune": _Entry("tune:tune", "Search for better settings of a preset."),
            "calibrate": _Entry("evaluate:calibrate", "Recalibrate confidences."),
            "update": _Entry("train:update", "Add new pairs, images and labels to a trained model."),
            "reproduce": _Entry("reproduce:reproduce", "Rerun the experiments of the paper.", in_clone=True),
        },
        "Use a model": {
            "annotate": _Entry("annotate:annotate", "Suggest missing labels for images."),
            "search": _Entry("query:SEARCH", "Find images for labels, including images not tagged with them."),
            "similar": _Entry("query:similar", "Find labels similar to a label, or images similar to an image."),
            "explain": _Entry("query:explain", "Explain the score of a label for an image."),
            "audit": _Entry("audit:audit", "Find labels that are likely wrong, missing or duplicate."),
            "serve": _Entry("serve:serve", "Serve a model over HTTP, with a web page."),
            "export": _Entry("export:export", "Export label or image vectors for other programs."),
            "push": _Entry("export:push", "Upload a model to the Hugging Face Hub, with a page about it."),
            "pull": _Entry("export:pull", "Download a model from the Hugging Face Hub and verify it."),
        },
        "Work on data": {
            "apply": _Entry("clean:apply", "Clean a data set by feedback, audit decisions and rules."),
            "undo": _Entry("clean:undo", "Restore the files that a write changed, byte for byte."),
            "feedback": _FEEDBACK,
            "rules": _RULES,
            "data": _DATA,
        },
    },
    params=list(_flags()),
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``vse`` and exit the process with its exit code; ``arguments`` default to those of the process."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # IDs may be any Unicode text, whatever the locale.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    state = CliState()
    sys.exit(errors.run(lambda: VSE.main(args=arguments, prog_name="vse", standalone_mode=False, obj=state), state))
