"""Find the project's `.loop/`, the plugin's data folder, the session. Standard library only."""

from __future__ import annotations

import os

FOLDER = ".loop"
#: What makes a folder a project of its own: package manifests, by name and by ending, and ours.
MARKS = frozenset(
    (
        *(FOLDER, "package.json", "deno.json", "pyproject.toml", "setup.py", "Cargo.toml"),
        *("go.mod", "pom.xml", "build.gradle", "build.gradle.kts", "composer.json", "Gemfile"),
        *("mix.exs", "pubspec.yaml", "Package.swift", "rebar.config"),
    )
)
MARK_ENDINGS = (".csproj", ".fsproj", ".cabal", ".gemspec")


def out_of_reach(folder: str, environment: dict) -> bool:
    """Whether a folder is the home folder, above it, or the root: never a project."""
    home, real = os.path.realpath(_home(environment)), os.path.realpath(folder)
    return real in (os.path.dirname(real), home) or home.startswith(real + os.sep)


def _home(environment: dict) -> str:
    """The person's home folder; where HOME does not say, the system does."""
    home = environment.get("HOME")
    if home:
        return home
    try:
        import pwd  # seldom needed, and a hook would pay for it each time

        return pwd.getpwuid(os.getuid()).pw_dir
    except (ImportError, KeyError):
        return os.path.expanduser("~")


def work_tree(folder: str, environment: dict) -> str | None:
    """The root of `folder`'s working tree; None outside git, and in a home folder's."""
    top = _climb(folder, ".git")
    return None if top is None or out_of_reach(top, environment) else top


def main_tree(folder: str, environment: dict) -> str | None:
    """The same, but for a linked worktree the root of the main one."""
    top = work_tree(folder, environment)
    main = _main(top) if top is not None else None
    return top if main is None or out_of_reach(main, environment) else main


def _main(top: str) -> str | None:
    """The root of the main working tree, from that of a linked one; None where `top` is not one."""
    link = os.path.join(top, ".git")
    if not os.path.isfile(link):
        return None
    try:
        with open(link, encoding="utf-8", errors="surrogateescape") as file:
            target = file.read(4096).strip()
    except OSError:
        return None
    if not target.startswith("gitdir:"):
        return None
    target = os.path.join(top, target[7:].strip())
    parent, _, last = target.partition(os.sep + ".git" + os.sep + "worktrees" + os.sep)
    return os.path.normpath(parent) if last and os.path.isdir(parent) else None


def has_git(folder: str) -> bool:
    """Whether a folder is, or seems to be, the root of a working tree."""
    return os.path.lexists(os.path.join(folder, ".git"))


def _climb(folder: str, name: str) -> str | None:
    above = (top for top in upwards(folder) if os.path.exists(os.path.join(top, name)))
    return next(above, None)


def upwards(folder: str) -> list:
    """A folder and all above it, nearest first."""
    folders = [os.path.abspath(folder)]
    while (above := os.path.dirname(folders[-1])) != folders[-1]:
        folders.append(above)
    return folders


def inside(path: str, folder: str) -> bool:
    """Whether a path is `folder` or lies in it, by their names."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def opened(folder: str, environment: dict) -> str:
    """Where the session was opened, if in `folder`'s working tree or above it; else `folder`. The
    client tells its hooks (CLAUDE_PROJECT_DIR), SessionStart tells commands (LOOPKIT_OPENED)."""
    folder, known = os.path.abspath(folder), session_folder(environment)
    if known is None:
        return folder
    tree = work_tree(folder, environment)
    if tree is not None and tree != work_tree(known, environment):
        return folder
    return known if tree is not None or inside(os.path.realpath(folder), known) else folder


def session_folder(environment: dict) -> str | None:
    """Where the session was opened, links resolved; None outside a session, or if unknown."""
    known = environment.get("LOOPKIT_OPENED") or environment.get("CLAUDE_PROJECT_DIR") or ""
    if not session_id(environment) or not os.path.isabs(known) or not os.path.isdir(known):
        return None
    return os.path.realpath(known)


def part(folder: str, environment: dict) -> str:
    """The part of its working tree that `folder` belongs to: the nearest folder below the root with
    a package manifest or a `.loop` of its own, relative to the root; "" for the whole."""
    tree = work_tree(folder, environment)
    for above in upwards(folder) if tree is not None else ():
        if above == tree:
            break
        try:
            names = os.listdir(above)
        except OSError:
            continue
        if not MARKS.isdisjoint(names) or any(name.endswith(MARK_ENDINGS) for name in names):
            return os.path.relpath(above, tree)
    return ""


def project(folder: str, environment: dict) -> str:
    """The project of a loop begun in `folder`: the main working tree, or the part of it in which
    the session was opened; outside git the folder where it was opened. It may be out of reach."""
    start = opened(folder, environment)
    main = main_tree(start, environment)
    if main is None:
        return start
    own = os.path.normpath(os.path.join(main, part(start, environment)))
    return own if os.path.isdir(own) else main  # the main tree may be on a branch without that part


def candidates(folder: str, environment: dict) -> list:
    """The `.loop` folders that may serve `folder`, nearest first: LOOPKIT_DIR alone, or those in it
    and above it, and of a linked worktree those of the main one. One that is out of reach counts
    only for that folder itself, and for the working tree that begins there."""
    given = environment.get("LOOPKIT_DIR")
    if given:
        return [os.path.abspath(given)] if os.path.isdir(given) else []
    folder = os.path.abspath(folder)
    tree = _climb(folder, ".git")
    within: list = []
    above: list = []
    for parent in upwards(folder):
        root, own = os.path.join(parent, FOLDER), parent in (folder, tree)
        if os.path.isdir(root) and (own or not out_of_reach(parent, environment)):
            (within if tree is not None and inside(parent, tree) else above).append(root)
    main = _main(tree) if tree is not None else None
    if main is not None:
        same = os.path.normpath(os.path.join(main, os.path.relpath(folder, tree)))
        roots = [os.path.join(parent, FOLDER) for parent in upwards(same) if inside(parent, main)]
        within += [root for root in roots if os.path.isdir(root)]
    # a linked worktree checks out what is kept of .loop; the loops are where the journals are
    within.sort(key=lambda root: not holds_loop(root))
    return list(dict.fromkeys(within + above))


def holds_loop(root: str) -> bool:
    """Whether a `.loop` holds a loop, or did: a snapshot, or a journal in one of its folders."""
    if os.path.exists(os.path.join(root, "workflow-state.json")):
        return True
    try:
        ledgers = [os.path.join(root, name, "ledger.jsonl") for name in os.listdir(root)]
    except OSError:
        return False
    return any(map(os.path.exists, ledgers))


def future(folder: str, environment: dict) -> str:
    """Where a new `.loop` belongs: LOOPKIT_DIR, else the project's."""
    given = environment.get("LOOPKIT_DIR")
    return os.path.abspath(given) if given else os.path.join(project(folder, environment), FOLDER)


def config_dir(environment: dict) -> str:
    """Claude Code's own folder."""
    return environment.get("CLAUDE_CONFIG_DIR") or os.path.join(_home(environment), ".claude")


def search_path(environment: dict) -> str:
    """PATH without its relative folders, the empty ones included: there lie a project's own
    programs, and loopkit starts none of these as its own."""
    folders = (environment.get("PATH") or os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if os.path.isabs(folder))


def plugin_root() -> str:
    """The folder that holds the package `loopkit`."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def data_dir(environment: dict) -> str:
    """The plugin's data folder: LOOPKIT_DATA, else the one that the client keeps for our
    marketplace. Hooks, Bash and a person's shell must agree on it, however the plugin was
    installed; CLAUDE_PLUGIN_DATA does not count, since only hooks get it."""
    given = environment.get("LOOPKIT_DATA")
    return given or os.path.join(config_dir(environment), "plugins", "data", "loop-loopkit")


def session_id(environment: dict) -> str:
    """The id of the Claude Code session that runs us, or empty."""
    return environment.get("CLAUDE_CODE_SESSION_ID") or ""


def unattended(environment: dict) -> bool:
    """Whether nobody can be asked in the session, by what the client says of it; a client that says
    nothing of that is told by how it was started (`sdk-cli`: `claude -p`)."""
    said = environment.get("CLAUDE_CODE_SESSION_ATTENDED")
    if said in ("0", "1"):
        return said == "0"
    return environment.get("CLAUDE_CODE_ENTRYPOINT", "").startswith("sdk")


def client_pid(environment: dict) -> int | None:
    """The process id of the client, or None where it does not say."""
    text = environment.get("CLAUDE_PID") or ""
    return int(text) if text.isdigit() and text.isascii() and len(text) < 10 else None


def alive(pid: int | None) -> bool:
    """Whether a process of that number runs (a zombie counts as gone)."""
    if not pid or not 0 < pid < 1 << 31:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] != b"Z"
    except (OSError, IndexError):
        return True
