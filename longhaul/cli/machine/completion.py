"""`longhaul completion`: the script with which a shell completes the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.orchestrator.system.errors import PlanError, nearest
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

app = verb_app()

# Each asks the program itself what may follow, as typer expects it.
_BASH = """\
# eval "$(longhaul completion bash)"
_longhaul_completion() {
    local IFS=$'\\n'
    COMPREPLY=($(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD _LONGHAUL_COMPLETE=complete_bash "$1"))
}
complete -o default -F _longhaul_completion longhaul
"""
_ZSH = """\
#compdef longhaul
# eval "$(longhaul completion zsh)", after compinit
_longhaul_completion() {
    eval $(env _TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" _LONGHAUL_COMPLETE=complete_zsh longhaul)
}
compdef _longhaul_completion longhaul
"""
_FISH = """\
# longhaul completion fish | source
function __longhaul_completion
    env _LONGHAUL_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=$argv[1] _TYPER_COMPLETE_ARGS=(commandline -cp) longhaul
end
complete --command longhaul --no-files --arguments '(__longhaul_completion get-args)' --condition '__longhaul_completion is-args'
"""
_SCRIPTS: Mapping[str, str] = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def _shells(begun: str) -> list[str]:
    """Names for the shell's completion."""
    return [name for name in _SCRIPTS if name.startswith(begun)]


@dataclass(frozen=True)
class CompletionOptions:
    """The options of `longhaul completion`."""

    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.", autocompletion=_shells)]


@command(app)
def completion(options: CompletionOptions) -> None:
    """Print the script that completes commands in a shell, as in `eval "$(longhaul completion bash)"`."""
    if options.shell not in _SCRIPTS:
        hint = f"known: {', '.join(_SCRIPTS)}{nearest(options.shell, _SCRIPTS)}"
        raise PlanError("printing the completion for", options.shell, "there is none for this shell", hint)
    print(_SCRIPTS[options.shell], end="")
