"""`crawltwin --completion SHELL`: a script with which bash, zsh or fish completes commands, options and their values.

It is made from the options themselves, so it is complete by construction; make it again after an update.
"""

from __future__ import annotations

import argparse
from importlib import import_module


def completion_script(shell: str, commands: dict[str, str]) -> str:
    """The script for bash, zsh or fish; `commands` are the names with their lines of help."""
    found = {name: _options(name) for name in commands}
    if shell == "fish":
        return _fish(commands, found)
    begin = "autoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else ""
    return begin + _bash(found)


def _options(command: str) -> dict[str, tuple[str, ...]]:
    """Every long option of a command with the values that it may have (none where it may have any)."""
    parser = argparse.ArgumentParser()
    import_module(f"crawltwin.cli.{command}").add_arguments(parser)
    return {
        word: tuple(str(choice) for choice in action.choices or ())
        for action in parser._actions
        for word in action.option_strings
        if word.startswith("--")
    }


def _bash(found: dict[str, dict[str, tuple[str, ...]]]) -> str:
    values = [
        f'    "{command} {option}") words="{" ".join(choices)}" ;;'
        for command, options in found.items()
        for option, choices in options.items()
        if choices
    ]
    options = [f'    "{command} "*) words="{" ".join(options)}" ;;' for command, options in found.items()]
    lines = [
        "_crawltwin() {",
        '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words=""',
        '  if [ "$COMP_CWORD" -eq 1 ]; then',
        f'    words="{" ".join(found)} --help --version --completion"',
        "  else",
        '    case "${COMP_WORDS[1]} $before" in',
        *values,
        *options,
        "    esac",
        "  fi",
        '  COMPREPLY=($(compgen -W "$words" -- "$word"))',
        "}",
        "complete -o default -F _crawltwin crawltwin",
    ]
    return "\n".join(lines) + "\n"


def _fish(commands: dict[str, str], found: dict[str, dict[str, tuple[str, ...]]]) -> str:
    lines = [
        f"complete -c crawltwin -n __fish_use_subcommand -f -a {name} -d '{words.replace(chr(39), '')}'"
        for name, words in commands.items()
    ]
    for command, options in found.items():
        within = f"complete -c crawltwin -n '__fish_seen_subcommand_from {command}' -l"
        for option, choices in options.items():
            values = f" -x -a '{' '.join(choices)}'" if choices else ""
            lines.append(f"{within} {option.removeprefix('--')}{values}")
    return "\n".join(lines) + "\n"
