# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shells on a terminal of their own, and what they complete there.

Each class starts one shell that has read one script of mp-opt or mp-run.
`complete(line)` is what that shell offers behind the line: the words that may
take the place of the last one, or of what stands behind its equals sign.
`press_tab(line)` is the line as it stands after one tab. The scripts run the
programs, which are in PATH.
"""

import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import termios
import time

from support import MP_OPT

SECONDS = 30
PATH = os.path.dirname(MP_OPT) + os.pathsep + os.environ["PATH"]


class Terminal:
    """A program on a terminal, and what it has printed since the last question."""

    def __init__(self, command, folder, variables):
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            # The tests are about completion, not about colors or the files in
            # /etc.
            environment = {
                "PATH": PATH, "HOME": str(folder), "TERM": "dumb",
                "LC_ALL": "C.UTF-8", **variables,
            }
            os.execvpe(command[0], command, environment)
        # The terminal has 2,000 lines: shells do not ask before they list
        # everything.
        size = struct.pack("HHHH", 2000, 400, 0, 0)
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, size)

    def write(self, text):
        os.write(self.descriptor, text.encode())

    def read_until(self, holds):
        """What is printed until `holds` is true of it."""
        printed, end = "", time.monotonic() + SECONDS
        while not holds(printed):
            assert time.monotonic() < end, f"no answer, but {printed!r}"
            ready, _, _ = select.select([self.descriptor], [], [], 0.01)
            if ready:
                printed += os.read(self.descriptor, 1 << 16).decode()
        return printed

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.descriptor)


class Zsh:
    """compadd, by which every match goes, writes down what it gets."""

    RC = r"""
PS1='ready> '
autoload -U compinit && compinit -u -D
zstyle ':completion:*' menu no
LISTMAX=10000 LINES=2000
compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
    builtin compadd "$@"
    return
  fi
  local -a found
  builtin compadd -A found "$@"
  (( $#found )) && print -rl -- $found >>$REPLIES
  builtin compadd "$@"
}
tab() { zle complete-word; print -r -- END >>$REPLIES }
zle -N tab && bindkey '^I' tab
source $SCRIPT && print -r -- DONE >>$REPLIES
"""

    def __init__(self, script, folder):
        self.replies = folder / "replies"
        self.replies.write_text("")
        rc = folder / "rc"
        rc.write_text(self.RC)
        work = folder / "work"
        self.terminal = Terminal(
            ["zsh", "-f", "-i"], work,
            {"SCRIPT": str(script), "REPLIES": str(self.replies)},
        )
        self.terminal.write(f"source {rc}\n")
        self.terminal.read_until(lambda _: "DONE\n" in self.replies.read_text())

    def complete(self, line):
        self.replies.write_text("")
        # ^U empties the line that was there.
        self.terminal.write("\x15" + line + "\t")
        self.terminal.read_until(lambda _: "END\n" in self.replies.read_text())
        return sorted(set(self.replies.read_text().splitlines()) - {"END"})

    def close(self):
        self.terminal.close()


class Bash:
    """A function that readline would call is called with what it would get: the
    words of the line, "=" and ":" being words of their own."""

    DRIVER = r"""
source "$SCRIPT"
program=$(complete -p | sed 's/.* //')
function=$(complete -p "$program" | sed 's/.*-F \([^ ]*\).*/\1/')
while IFS=$'\t' read -ra COMP_WORDS; do
  [[ ${COMP_WORDS[-1]} != EMPTY ]] || COMP_WORDS[-1]=
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  "$function" "$program" "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
  ((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
  echo END
done
"""

    def __init__(self, script, folder):
        self.process = subprocess.Popen(
            ["bash", "--norc", "-uc", self.DRIVER], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder / "work",
            env={**os.environ, "PATH": PATH, "SCRIPT": str(script)},
        )

    @staticmethod
    def split(line):
        words = []
        for word in line.split(" "):
            for mark in "=:":
                word = word.replace(mark, f"\0{mark}\0")
            parts = [part for part in word.split("\0") if part]
            words += parts or [""]
        words[-1] = words[-1] or "EMPTY"
        return words

    def complete(self, line):
        self.process.stdin.write("\t".join(self.split(line)) + "\n")
        self.process.stdin.flush()
        replies = []
        while (reply := self.process.stdout.readline().rstrip("\n")) != "END":
            assert self.process.poll() is None, "bash has ended"
            replies.append(reply)
        return sorted(replies)

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


class BashTerminal:
    """The line itself, as readline leaves it."""

    RC = r"""
PS1='ready> '
bind 'set bell-style none'
bind 'set enable-bracketed-paste off'
# ^G: what the line is.
bind -x '"\C-g": printf "%s\n" "$READLINE_LINE" >"$LINE"'
[[ $BREAKS ]] || COMP_WORDBREAKS=${COMP_WORDBREAKS//=/}
source "$SCRIPT"
"""

    def __init__(self, script, folder, breaks):
        self.breaks = breaks
        rc = folder / "bashrc"
        self.line = folder / "line"
        rc.write_text(self.RC)
        self.terminal = Terminal(
            ["bash", "--noprofile", "--rcfile", str(rc), "-i"], folder / "work",
            {"SCRIPT": str(script), "BREAKS": breaks, "LINE": str(self.line)},
        )
        self.terminal.read_until(lambda text: text.endswith("ready> "))

    def press_tab(self, line):
        self.line.write_text("")
        self.terminal.write("\x15" + line + "\t\x07")
        self.terminal.read_until(lambda _: self.line.read_text().endswith("\n"))
        return self.line.read_text().removesuffix("\n")

    def close(self):
        self.terminal.close()


class Fish:
    def __init__(self, script, folder):
        self.script, self.folder = script, folder

    def complete(self, line):
        home = self.folder / "fish"
        done = subprocess.run(
            ["fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]",
             str(self.script), line],
            capture_output=True, text=True, timeout=SECONDS, check=True,
            cwd=self.folder / "work",
            env={**os.environ, "PATH": PATH, "HOME": str(home),
                 "XDG_CONFIG_HOME": str(home)},
        )
        assert not done.stderr, done.stderr
        return sorted(line.split("\t")[0] for line in done.stdout.splitlines())

    def close(self):
        pass


def is_there(shell):
    return shutil.which(shell) is not None
