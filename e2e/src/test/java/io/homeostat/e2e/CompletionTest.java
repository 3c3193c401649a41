package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** TAB in the shells themselves. One that is not installed is skipped. */
@Tag("nightly")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
final class CompletionTest {
    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    enum Shell {
        /** The function that readline calls, as readline calls it. */
        BASH("""
                source <(homeostat completion bash)
                for line in "$@"; do
                  read -ra COMP_WORDS <<<"${line//=/ = }"
                  [[ $line != *' ' && $line != *= ]] || COMP_WORDS+=('')
                  COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
                  _homeostat
                  echo "$line: ${COMPREPLY[*]}"
                done
                """),
        /** A shell on a terminal, at which the keys are typed; what compadd is given is what it would show. */
        ZSH("""
                zmodload zsh/zpty
                zpty -b shell zsh -f -i
                zpty -w shell "PS1= PS2= RPS1=; setopt no_zle_bracketed_paste 2>/dev/null; unset zle_bracketed_paste; stty -echo"
                zpty -w shell "autoload -Uz compinit; compinit -u -D -d $PWD/dump; source <(homeostat completion zsh)"
                zpty -w shell 'function compadd {
                  if (( ${@[(I)-[AOD]]} )); then builtin compadd "$@"; return; fi
                  local -a hits; builtin compadd -A hits "$@"; found+=("${hits[@]}"); builtin compadd "$@"; }'
                zpty -w shell 'show() { local -a found; _main_complete >/dev/null 2>&1
                  print -r -- "<<<$LBUFFER: $found>>>"; compstate[insert]=; compstate[list]=; }'
                zpty -w shell "zle -C show complete-word show; bindkey '^X' show; bindkey '^U' kill-whole-line; print -r -- RE'A'DY"
                zpty -r -m shell text '*READY*'
                for line in "$@"; do
                  zpty -w -n shell "$line"$'\\x18'
                  zpty -r -m shell text '*<<<*>>>*'
                  text=${text##*<<<}
                  print -r -- "${text%%>>>*}"
                  zpty -w -n shell $'\\x15'
                done
                zpty -d shell
                """),
        /** What fish itself says it would offer. */
        FISH("""
                homeostat completion fish | source
                for line in $argv
                  set -l found (complete -C "$line" | string replace -r '\\t.*' '')
                  echo "$line: $found"
                end
                """);

        private final String script;

        Shell(String script) {
            this.script = script;
        }

        private String word() {
            return name().toLowerCase(Locale.ROOT);
        }

        private boolean isInstalled() {
            return Stream.of(System.getenv("PATH").split(":", -1))
                    .anyMatch(directory -> Files.isExecutable(Path.of(directory).resolve(word())));
        }
    }

    @BeforeEach
    void declare() throws IOException {
        Path web = Files.writeString(homeostat.directory().resolve("web.yaml"), """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: web}
                spec: {install: local, entryPoint: /bin/sleep, arguments: ["600"]}
                """);
        Files.createDirectory(homeostat.directory().resolve("webs"));
        homeostat.run("apply", "-f", web.toString()).exits(0);
    }

    @ParameterizedTest
    @EnumSource
    void commandsOptionsValuesFilesAndNamesAreOffered(Shell shell) throws Exception {
        assumeTrue(shell.isInstalled(), shell.word() + " is not installed");
        String state = "--state-dir " + homeostat.stateDir();
        List<String> lines = List.of(
                "homeostat sta",
                "homeostat apply --pru",
                "homeostat -o ",
                "homeostat plan --output=j",
                "homeostat apply -f w",
                "homeostat validate -f web.yaml w",
                "homeostat run --config w",
                "homeostat --state-dir w",
                "homeostat " + state + " delete ",
                "homeostat " + state + " logs process/w",
                "homeostat frobnicate ");

        List<String> offered = complete(shell, lines);

        assertEquals(lines.size(), offered.size(), offered::toString);
        assertEquals("start states status", sorted(offered.getFirst()));
        assertEquals("--prune", offered.get(1).replace("--prune=", "--prune"));
        assertEquals("json text", sorted(offered.get(2)));
        assertTrue(offered.get(3).endsWith("json"), offered::toString);
        for (int files : List.of(4, 5, 6)) {
            assertEquals("web.yaml webs", sorted(offered.get(files)), offered::toString);
        }
        assertEquals("webs", sorted(offered.get(7)));
        assertEquals("process/web", offered.get(8));
        assertEquals("process/web", offered.get(9));
        assertEquals("", offered.get(10));
    }

    @ParameterizedTest
    @EnumSource
    void theStateDirectoryMayBeQuotedOrAVariable(Shell shell) throws Exception {
        assumeTrue(shell.isInstalled(), shell.word() + " is not installed");
        Files.createSymbolicLink(homeostat.directory().resolve("state"), homeostat.stateDir());
        List<String> lines = Stream.of("\"%s\"", "'%s'", "$HOME/state", "${HOME}/state", "\"$HOME/state\"")
                .map(state -> "homeostat --state-dir " + state.formatted(homeostat.stateDir()) + " status process/w")
                // Fish knows no braces.
                .filter(line -> shell != Shell.FISH || !line.contains("{"))
                .toList();

        assertEquals(lines.stream().map(line -> "process/web").toList(), complete(shell, lines));
    }

    @ParameterizedTest
    @EnumSource
    void whatWouldRunSomethingIsNotExpanded(Shell shell) throws Exception {
        assumeTrue(shell.isInstalled(), shell.word() + " is not installed");

        complete(shell, List.of("homeostat --state-dir \"$(>ran)`>ran`\" status process/w"));

        assertFalse(Files.exists(homeostat.directory().resolve("ran")));
    }

    @Test
    void fishOffersFilesHoweverTheirNameBegins() throws Exception {
        assumeTrue(Shell.FISH.isInstalled(), "fish is not installed");
        Files.createFile(homeostat.directory().resolve("webs").resolve("a b.yaml"));
        List<String> lines = List.of(
                "homeostat apply -f ~/w",
                "homeostat apply -f $HOME/w",
                "homeostat apply -f \"$HOME/w",
                "homeostat run --config ~/w",
                "homeostat run --config=~/w",
                "homeostat apply -f webs/a\\ ");

        List<String> offered = complete(Shell.FISH, lines);

        assertEquals(
                List.of(
                        "~/web.yaml ~/webs",
                        "$HOME/web.yaml $HOME/webs",
                        "$HOME/web.yaml $HOME/webs",
                        "~/web.yaml ~/webs",
                        "--config=~/web.yaml --config=~/webs"),
                offered.subList(0, 5).stream().map(CompletionTest::sorted).toList());
        assertEquals("webs/a b.yaml", offered.getLast());
    }

    @CanIgnoreReturnValue
    private List<String> complete(Shell shell, List<String> lines) throws IOException, InterruptedException {
        Path script = Files.writeString(homeostat.directory().resolve("." + shell.word()), shell.script);
        List<String> command = new ArrayList<>(List.of(shell.word(), script.toString()));
        command.addAll(lines);
        Path out = homeostat.directory().resolve(".out");
        Path err = homeostat.directory().resolve(".err");
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(homeostat.directory().toFile())
                .redirectInput(Path.of("/dev/null").toFile())
                .redirectOutput(out.toFile())
                .redirectError(err.toFile());
        builder.environment()
                .merge("PATH", Distribution.home().resolve("bin").toString(), (path, ours) -> ours + ":" + path);
        builder.environment().put("HOME", homeostat.directory().toString());
        builder.environment().put("TERM", "dumb");
        Process process = builder.start();
        if (!process.waitFor(4, TimeUnit.MINUTES)) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly().waitFor();
        }
        String answers = Files.readString(out, StandardCharsets.UTF_8).replace("\r", "");
        assertEquals("", Files.readString(err), answers);
        List<String> offered = new ArrayList<>();
        for (String line : lines) {
            answers.lines()
                    .filter(answer -> answer.startsWith(line + ":"))
                    .map(answer -> answer.substring(line.length() + 1).strip())
                    .findFirst()
                    .ifPresent(offered::add);
        }
        return offered;
    }

    /** Whatever a shell adds to what it offers: a slash after directories. */
    private static String sorted(String words) {
        return String.join(
                " ",
                new TreeSet<>(Stream.of(words.split(" ", -1))
                        .map(word -> word.replaceFirst("/$", ""))
                        .toList()));
    }
}
