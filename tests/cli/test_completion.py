"""``svmpress --completion``: what the shells offer after a tab, asked of bash itself."""

from __future__ import annotations

import shlex
import shutil
import subprocess

import pytest

from svmpress.cli import COMMANDS, main

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed here")


def offered(script: str, *words: str) -> list[str]:
    """Return what bash offers for the last of some words."""
    asked = f"COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; _svmpress; "
    shown = "printf '%s\\n' \"${COMPREPLY[@]}\""
    run = subprocess.run(["bash", "-u", "-c", script + asked + shown], capture_output=True, text=True, check=True)
    assert run.stderr == ""
    return run.stdout.split()


@pytest.fixture
def script(capsys):
    assert main(["--completion", "bash"]) == 0
    return capsys.readouterr().out


@needs_bash
def test_commands_options_and_their_values_are_offered(script):
    assert set(offered(script, "svmpress", "")) >= {c.__name__.rpartition(".")[2] for c in COMMANDS} | {"--version"}
    assert offered(script, "svmpress", "eval") == ["evaluate"]
    assert offered(script, "svmpress", "compress", "--max-d") == ["--max-drop"]
    assert offered(script, "svmpress", "compress", "a.model", "--effort", "") == ["fast", "balanced", "thorough"]
    assert offered(script, "svmpress", "export", "a.model", "--target", "w") == ["web"]
    assert offered(script, "svmpress", "--completion", "") == ["bash", "zsh"]


@needs_bash
def test_file_names_are_left_to_the_shell(script):
    """The values of ``--task`` belong to train and search, and no word of ours is offered for a file."""
    assert "complete -o default -F _svmpress svmpress" in script
    assert offered(script, "svmpress", "predict", "small") == []
    assert offered(script, "svmpress", "predict", "--task", "") == []


def test_zsh_gets_what_it_needs_to_run_completions_of_bash(script, capsys):
    assert main(["--completion", "zsh"]) == 0
    head, _, rest = capsys.readouterr().out.partition("_svmpress()")
    assert "bashcompinit" in head
    assert script.endswith(rest)


def test_other_shells_are_refused(capsys):
    assert main(["--completion", "tcsh"]) == 2
    assert "tcsh" in capsys.readouterr().err
