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
    """Every long option of a command with the values that it may have (none where it may have any).

    Values of what stands first, without an option, have no name.
    """
    parser = argparse.ArgumentParser()
    module = import_module(f"crawltwin.cli.{command}")
    module.add_arguments(parser)
    named = {
        word: tuple(str(choice) for choice in action.choices or ())
        for action in parser._actions
        for word in action.option_strings
        if word.startswith("--")
    }
    listed = [action.choices for action in parser._actions if not action.option_strings and action.choices]
    first = tuple(map(str, listed[0])) if listed else module.names() if hasattr(module, "names") else ()
    return {"": first, **named} if first else named


def _bash(found: dict[str, dict[str, tuple[str, ...]]]) -> str:
    values = [
        f'    "{command} {option}") words="{" ".join(choices)}"; return ;;'
        for command, options in found.items()
        for option, choices in options.items()
        if choices and option
    ]
    options = [f'    {command}) words="{" ".join(filter(None, options))}" ;;' for command, options in found.items()]
    firsts = [f'    {command}) words="{" ".join(one[""])}" ;;' for command, one in found.items() if "" in one]
    lines = [
        "_crawltwin_words() {",
        '  if [ "$COMP_CWORD" -eq 1 ]; then',
        f'    words="{" ".join(found)} --help --version --completion"; return',
        "  fi",
        '  case "${COMP_WORDS[1]} $before" in',
        '    "--completion "*) words="bash zsh fish"; return ;;',
        *values,
        "  esac",
        "  # Where no option begins, files stand; they are completed where no word is offered.",
        '  case "$word" in -*) case "${COMP_WORDS[1]}" in',
        *options,
        "  esac; return ;; esac",
        '  if [ "$COMP_CWORD" -eq 2 ]; then case "${COMP_WORDS[1]}" in',
        *firsts,
        "  esac; fi",
        "}",
        "_crawltwin() {",
        '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words=""',
        "  # bash takes --option=value as three words.",
        '  if [ "$word" = = ]; then word=""; elif [ "$before" = = ]; then before="${COMP_WORDS[COMP_CWORD-2]}"; fi',
        "  _crawltwin_words",
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
            if option:
                lines.append(f"{within} {option.removeprefix('--')}{values}")
            else:
                lines.append(f"{within.removesuffix(' -l')} -f -a '{' '.join(choices)}'")
    return "\n".join(lines) + "\n"
