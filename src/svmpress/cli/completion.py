"""``svmpress --completion SHELL``: a script for bash and zsh that completes commands, options and their values.

The script holds all words, so that a press of the tab key starts no Python. Where neither a command nor one of the
values of an option is due, it leaves the word to the shell, which completes file names.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from typing import Any

SHELLS = ("bash", "zsh")

_BASH = """\
_svmpress() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=
    COMPREPLY=()
    case "$COMP_CWORD:${COMP_WORDS[1]}:$before" in
@cases@
    esac
    if [[ -z $words && $word == -* ]]; then
        case "${COMP_WORDS[1]}" in
@options@
        esac
    fi
    if [[ -n $words ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$word"))
    fi
}
complete -o default -F _svmpress svmpress
"""

_ZSH = "autoload -U +X compinit && compinit -u\nautoload -U +X bashcompinit && bashcompinit\n"


class ShowCompletion(argparse.Action):
    """An option that prints the script and ends the program, as ``--version`` does."""

    def __call__(self, parser: argparse.ArgumentParser, *args: Any) -> None:
        """Print the script for the shell that was named."""
        sys.stdout.write(script(parser, args[1]))
        parser.exit()


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the script for a shell.

    Parameters
    ----------
    parser : ArgumentParser
        The program's, with all commands.
    shell : "bash" or "zsh"

    Examples
    --------
    >>> from svmpress.cli import build_parser
    >>> "compress:--effort) words='fast balanced thorough'" in script(build_parser(), "bash")
    True
    """
    commands = _commands(parser)
    cases = [f"1:*) words={shlex.quote(' '.join([*commands, *_options(parser)]))} ;;"]
    cases += [f"2:*:--completion) words={shlex.quote(' '.join(SHELLS))} ;;"]
    for name, command in commands.items():
        for options, values in _values(command):
            patterns = "|".join(f"*:{name}:{option}" for option in options)
            cases.append(f"{patterns}) words={shlex.quote(values)} ;;")
    options = [f"{name}) words={shlex.quote(' '.join(_options(c)))} ;;" for name, c in commands.items()]
    text = _BASH.replace("@cases@", _indented(cases, 4)).replace("@options@", _indented(options, 8))
    return text if shell == "bash" else _ZSH + text


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    (found,) = (a.choices for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return dict(found)


def _options(parser: argparse.ArgumentParser) -> list[str]:
    return [option for action in parser._actions for option in action.option_strings]


def _values(parser: argparse.ArgumentParser) -> Iterator[tuple[list[str], str]]:
    """Yield the names of each option that takes one of a few values, and these."""
    for action in parser._actions:
        if action.option_strings and action.choices is not None:
            yield list(action.option_strings), " ".join(map(str, action.choices))


def _indented(lines: list[str], by: int) -> str:
    return "\n".join(" " * by + line for line in lines)
