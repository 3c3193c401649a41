package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.io.BaseEncoding;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command line itself: words, options, exit statuses. */
class UsageTest {
    @TempDir
    Path directory;

    private Shell shell;

    @BeforeEach
    void openShell() {
        shell = new Shell(directory);
    }

    @Test
    void noCommandIsAnErrorThatShowsTheCommands() {
        Result result = shell.plain();
        assertEquals(64, result.status());
        assertEquals("", result.out());
        assertTrue(result.err().contains("validate"), result.err());
    }

    @Test
    void helpListsWhatExistsAndNothingElse() {
        Result result = shell.plain("--help");
        assertEquals(0, result.status());
        for (String command : new String[] {
            "init",
            "bundle",
            "validate",
            "publish",
            "fleet",
            "plan",
            "apply",
            "delete",
            "pause",
            "resume",
            "run",
            "status",
            "events",
            "logs",
            "stop",
            "start",
            "reset",
            "verify",
            "states",
            "vm-event",
            "watch",
            "ui",
            "doctor",
            "diagnostics",
            "explain",
            "schema",
            "completion",
            "version"
        }) {
            assertTrue(result.out().contains("\n  " + command + " "), command);
        }
        assertFalse(result.out().contains("\n  self-train"), "not for people");
    }

    @Test
    void whatIsMisspelledIsToldWhatWasMeantAlsoBesideTheNameOfACommand() {
        Result misspelled = shell.plain("stauts", "plan");
        assertEquals(64, misspelled.status());
        assertTrue(misspelled.err().contains("did you mean status?"), misspelled.err());
    }

    @Test
    void nobodyIsLedByATypingErrorToWhatCannotBeUndone() {
        for (String word : new String[] {"rest", "resets", "delet", "deleet", "dlete", "rset"}) {
            String err = shell.plain(word).err();
            assertFalse(err.contains("did you mean reset") || err.contains("did you mean delete"), err);
        }
        String err = shell.plain("reset", "--yess").err();
        assertFalse(err.contains("did you mean --yes"), err);
    }

    @Test
    void aMisspelledOptionIsToldWhatWasMeant() {
        assertTrue(shell.plain("plan", "--prunne").err().contains("did you mean --prune?"));
    }

    @Test
    void errorsAreJsonForWhoeverAsksForJson() throws IOException {
        assertEquals(
                "{\"formatVersion\":\"1.0\",\"error\":{\"command\":\"plan\",\"kind\":\"usage\",\"message\":"
                        + "\"Unknown option: '--prunne'; did you mean --prune?; see homeostat plan --help\"}}\n",
                shell.plain("plan", "--prunne", "-o", "json").err());
        for (String[] line : new String[][] {
            {"frobnicate", "-o", "json"},
            {"-ojson", "frobnicate"},
            {"--output=JSON", "frobnicate"},
            {"-o=json", "apply"},
            {"-o", "json"},
            {"reset", "plugin/a", "--output", "json"},
            {"delete", "nothing", "-o", "json"}
        }) {
            Result result = shell.plain(line);
            assertEquals(64, result.status());
            assertEquals("", result.out());
            assertEquals(
                    "usage",
                    new ObjectMapper().readTree(result.err()).at("/error/kind").asText(),
                    result.err());
        }
        shell.write(
                "a.yaml", "apiVersion: homeostat.io/v1\nkind: Process\nmetadata: {name: a}\nspec: {instal: local}\n");
        Result invalid = shell.run("plan", "-f", directory + "/a.yaml", "-o", "json");
        assertEquals(1, invalid.status());
        JsonNode error = new ObjectMapper().readTree(invalid.err()).at("/error");
        assertEquals("failure", error.at("/kind").asText());
        assertEquals(4, error.at("/problems/0/line").asInt(), invalid.err());
        Result unknown = shell.run("delete", "process/a", "-o", "json");
        assertEquals(
                "delete",
                new ObjectMapper().readTree(unknown.err()).at("/error/command").asText());
    }

    @Test
    void everyResultSaysInWhichVersionItIsWritten() throws IOException {
        shell.write("a.yaml", Shell.sleeper("a", 1));
        for (String[] line : new String[][] {
            {"status"},
            {"plan", "-f", directory + "/a.yaml"},
            {"validate", "-f", directory + "/a.yaml"},
            {"explain"},
            {"explain", "Agent"},
            {"version"},
            {"doctor"}
        }) {
            List<String> words = new ArrayList<>(List.of(line));
            words.addAll(List.of("-o", "json"));
            JsonNode json = new ObjectMapper()
                    .readTree(shell.run(words.toArray(String[]::new)).out());
            assertEquals("1.0", json.path("formatVersion").asText(), words::toString);
        }
    }

    @Test
    void whatIsNeitherFileNorDirectoryIsNotWaitedFor() throws Exception {
        Path fifo = directory.resolve("fifo");
        assertEquals(0, new ProcessBuilder("mkfifo", fifo.toString()).start().waitFor());
        for (String command : new String[] {"validate", "plan", "apply"}) {
            for (String path : new String[] {fifo.toString(), "/dev/null"}) {
                Result result = shell.run(command, "-f", path);
                assertEquals(1, result.status());
                assertTrue(result.err().contains(path + ": neither a file nor a directory"), result.err());
            }
        }
        Result config = shell.run("run", "--config", fifo.toString());
        assertEquals(1, config.status());
        assertTrue(config.err().contains(fifo + ": not a file"), config.err());
    }

    @Test
    void pathsWithoutADocumentAreNotValid() throws IOException {
        Path empty = Files.createDirectory(directory.resolve("empty"));
        shell.write("comment.yaml", "# nothing\n");
        for (String path : new String[] {empty.toString(), directory + "/comment.yaml"}) {
            for (String command : new String[] {"validate", "plan", "apply"}) {
                Result result = shell.run(command, "-f", path);
                assertEquals(1, result.status(), command);
                assertTrue(result.err().contains("there is no document in " + path), result.err());
            }
            Result json = shell.run("validate", "-f", path, "-o", "json");
            JsonNode valid = new ObjectMapper().readTree(json.out());
            assertFalse(valid.at("/valid").asBoolean());
            assertTrue(valid.at("/errors/0/message").asText().contains("no document"), json.out());
        }
        for (String command : new String[] {"plan", "diff", "apply"}) {
            Result refused = shell.run(command, "-f", empty.toString(), "--prune");
            assertEquals(command.equals("diff") ? 2 : 1, refused.status(), command);
            assertTrue(refused.err().contains("there is no document in " + empty), refused.err());
            assertTrue(refused.err().contains("add --allow-empty"), refused.err());
            assertEquals(
                    0,
                    shell.run(command, "-f", empty.toString(), "--prune", "--allow-empty")
                            .status());
        }
        assertUsage("apply", "apply", "-f", empty.toString(), "--allow-empty");
    }

    @Test
    void aStateDirectoryThatIsNoneIsAnError() throws IOException {
        shell.write("file", "");
        for (String path : new String[] {directory + "/file", directory + "/file/state"}) {
            for (String command : new String[] {"status", "plan", "events"}) {
                Result result = shell.plain(command, "--state-dir", path, "--run-dir", directory + "/run");
                assertEquals(1, result.status(), result.err());
                assertTrue(result.err().contains(path), result.err());
                assertTrue(result.err().contains("Not a directory"), result.err());
            }
        }
    }

    @Test
    void everyCommandHasHelp() {
        for (Verb verb : Verb.values()) {
            Result result = shell.plain(verb.word(), "--help");
            assertEquals(0, result.status(), verb.word());
            assertTrue(result.out().contains("Usage: homeostat " + verb.word()), result.out());
            assertEquals("", result.err());
        }
    }

    @Test
    void helpSaysThatTheStateDirectoryTakesNoSocketsAlong() {
        assertTrue(shell.plain("--help").out().contains("Where state is kept; --run-dir stays where it is.\n"));
    }

    @Test
    void helpIsAlsoACommandAsInOtherPrograms() {
        assertEquals(shell.plain("--help").out(), shell.plain("help").out());
        assertEquals(
                shell.plain("apply", "--help").out(),
                shell.plain("help", "apply").out());
        assertEquals(0, shell.plain("help").status());
    }

    @Test
    void helpIsACommandAfterOptionsToo() {
        String apply = shell.plain("apply", "--help").out();
        assertEquals(apply, shell.plain("--no-color", "help", "apply").out());
        assertEquals(apply, shell.plain("--state-dir", "/s", "help", "apply").out());
        assertEquals(64, shell.plain("explain", "help", "--frob").status(), "a field of that name");
        assertEquals(64, shell.plain("--frob", "help").status());
    }

    @Test
    void whatNobodyUnderstandsIs64AndSaysWhereHelpIs() {
        assertUsage("init", "init");
        assertUsage("init", "init", "binary");
        assertUsage("init", "init", "frob", "/bin/sh");
        assertUsage("bundle", "bundle");
        assertUsage("bundle", "bundle", "web");
        assertUsage("publish", "publish", "-f", "a.yaml");
        assertUsage("publish", "publish", "--to", "etcd");
        assertUsage("fleet", "fleet");
        assertUsage("fleet", "fleet", "frob");
        assertUsage("plan", "plan", "--no-such-option");
        assertUsage("apply", "apply");
        assertUsage("apply", "apply", "-f", "x.yaml", "--timeout", "soon");
        assertUsage("apply", "apply", "-f", "x.yaml", "--timeout", "0s");
        assertUsage("apply", "apply", "-f", "-", "--prune");
        assertUsage("plan", "plan", "--prune");
        assertUsage("delete", "delete");
        assertUsage("delete", "delete", "ops-agent");
        assertUsage("pause", "pause", "process/a");
        assertUsage("pause", "pause", "process/a", "--reason", " ");
        assertUsage("pause", "pause", "--reason", "why");
        assertUsage("resume", "resume");
        assertUsage("status", "status", "job/ops-agent");
        assertUsage("logs", "logs");
        assertUsage("logs", "logs", "process/a", "--tail", "-1");
        assertUsage("events", "events", "--limit", "-1");
        assertUsage("events", "events", "--since", "yesterday");
        assertUsage("events", "events", "--for", "a");
        assertUsage("stop", "stop");
        assertUsage("start", "start", "ops-agent");
        assertUsage("verify", "verify", "plugin/a");
        assertUsage("verify", "verify", "plugin/a", "--revision", "");
        assertUsage("verify", "verify", "--revision", "1");
        assertUsage("reset", "reset", "plugin/a");
        assertUsage("vm-event", "vm-event");
        assertUsage("vm-event", "vm-event", "reboot");
        assertUsage("watch", "watch", "process/a");
        assertUsage("watch", "watch", "plugin/a", "--code", "many");
        assertUsage("watch", "watch");
        assertUsage("history", "history");
        assertUsage("rollback", "rollback", "process/a", "--all");
        assertUsage("events", "events", "--for", "process/a", "--all");
        assertUsage("exec", "exec");
        assertUsage("exec", "exec", "task/a");
        assertUsage("exec", "exec", "task/a", "ls");
        assertUsage("exec", "exec", "a", "--", "ls");
        assertUsage("exec", "exec", "-t", "task/a", "--", "ls");
        assertUsage("exec", "exec", "--frobnicate", "task/a", "--", "ls");
        assertUsage("signal", "signal", "process/a");
        assertUsage("signal", "signal", "process/a", "FROB");
        assertUsage("signal", "signal", "process/a", "HUP", "TERM");
        assertUsage("diagnostics", "diagnostics");
        assertUsage("diagnostics", "diagnostics", "");
        assertUsage("diagnostics", "diagnostics", "a.tar.gz", "b.tar.gz");
        assertUsage("diagnostics", "diagnostics", "a.tar.gz", "--config", "");
        assertUsage("plan", "plan", "-o", "yaml");
        assertUsage("apply", "apply", "-f", "");
        assertUsage("validate", "validate", "-f", "a.yaml", "-f", "");
        assertUsage("completion", "completion", "tcsh");
        assertUsage("homeostat", "frobnicate");
    }

    @Test
    void anEmptyDirectoryIsNotTheWorkingDirectory() {
        for (String option : new String[] {"--state-dir", "--run-dir"}) {
            Result result = shell.plain("plan", option, "");
            assertEquals(64, result.status(), result.err());
            assertTrue(result.err().contains(option + " is empty"), result.err());
        }
    }

    @Test
    void aWordThatIsNoChoiceIsAnsweredWithTheChoicesAsTheyAreTyped() {
        assertEquals(
                "homeostat: Invalid value for option '--output': 'yaml' is none of text, json; see homeostat plan --help\n",
                shell.plain("plan", "-o", "yaml").err());
        assertEquals(
                "homeostat: Invalid value for option '--log-level': 'loud' is none of error, warn, info, debug, trace;"
                        + " see homeostat plan --help\n",
                shell.plain("plan", "--log-level", "loud").err());
    }

    private void assertUsage(String command, String... words) {
        Result result = shell.run(words);
        assertEquals(64, result.status(), result.err());
        assertEquals("", result.out());
        assertTrue(result.err().startsWith("homeostat: "), result.err());
        String help = command.equals("homeostat") ? "homeostat --help" : "homeostat " + command + " --help";
        assertTrue(result.err().stripTrailing().endsWith("see " + help), result.err());
        assertEquals(1, result.err().lines().count(), result.err());
    }

    @Test
    void diagnosticsSayWhatTheirFileMayBe() {
        for (String[] line : new String[][] {{"diagnostics"}, {"diagnostics", ""}}) {
            String said = shell.plain(line).err();
            assertTrue(said.contains("name a new file, such as diagnostics.tar.gz, or write - for"), said);
        }
    }

    @Test
    void globalOptionsStandBeforeOrAfterTheCommand() throws IOException {
        shell.write("a.yaml", Shell.sleeper("a", 1));
        String json =
                "{\"formatVersion\":\"1.0\",\"valid\":true,\"documents\":1,\"errors\":[],\"warnings\":[],\"unchecked\":[]}\n";
        assertEquals(
                json,
                shell.plain("-o", "json", "validate", "-f", directory + "/a.yaml")
                        .out());
        assertEquals(
                json,
                shell.plain("validate", "-f", directory + "/a.yaml", "--output", "JSON")
                        .out());
        assertEquals(
                json,
                shell.plain("-o", "text", "validate", "-f", directory + "/a.yaml", "-o=json")
                        .out());
    }

    @Test
    void versionIsTheBuilds() {
        Result result = shell.plain("version");
        assertTrue(result.out().matches("homeostat \\d+\\.\\d+\\.\\d+\\S* \\(Java \\d+.*\\)\n"), result.out());
        assertEquals(result.out(), shell.plain("--version").out());
        assertTrue(shell.plain("version", "-o", "json").out().startsWith("{\"formatVersion\":\"1.0\",\"version\":\""));
    }

    @Test
    void explainSaysWhatAFieldIsFor() {
        Result result = shell.plain("explain", "Plugin.spec.limits");
        assertEquals(0, result.status());
        assertTrue(result.out().contains("memory"), result.out());
        Result unknown = shell.plain("explain", "Plugin.spec.limit");
        assertEquals(1, unknown.status());
        assertTrue(unknown.err().startsWith("homeostat: explain: "), unknown.err());
        assertTrue(shell.plain("explain").out().contains("Plugin"));
    }

    @Test
    void explainSaysTheSameToPrograms() {
        assertEquals(
                "{\"formatVersion\":\"1.0\",\"path\":\"Plugin.spec.limits\",\"kind\":\"Plugin\",\"type\":\"object\","
                        + "\"description\":\"Limits for the whole process tree, in force from its first instruction.\",\"fields\":["
                        + "{\"name\":\"memory\",\"type\":\"size\",\"required\":false,\"default\":null,\"description\":"
                        + "\"The most memory the process tree may use. Beyond it the kernel kills it, and the workload is restarted."
                        + " Written as 64Mi, 1Gi or a number of bytes.\"},"
                        + "{\"name\":\"cpu\",\"type\":\"percent\",\"required\":false,\"default\":null,\"description\":"
                        + "\"Percent of one core; above 100% for several cores."
                        + " Written as 20%, or 250% for two cores and a half.\"},"
                        + "{\"name\":\"required\",\"type\":\"boolean\",\"required\":false,\"default\":\"false\",\"description\":"
                        + "\"true: where limits can't be enforced, the program is not started.\"},"
                        + "{\"name\":\"oomGroup\",\"type\":\"boolean\",\"required\":false,\"default\":\"false\",\"description\":"
                        + "\"true: beyond the memory limit the kernel kills all of the process tree and not one process of it;"
                        + " takes control groups of version 2.\"},"
                        + "{\"name\":\"memoryMax\",\"type\":\"size\",\"required\":false,\"default\":null,\"description\":"
                        + "\"Of a Task: the most memory it may use while the machine has some to spare; memory when left out."
                        + " Written as 64Mi, 1Gi or a number of bytes.\"},"
                        + "{\"name\":\"cores\",\"type\":\"integer\",\"required\":false,\"default\":null,\"description\":"
                        + "\"Of a Task: how many processors it has for itself, where its driver can do that; 0 for none. Written as a number from 0 to 4096.\"},"
                        + "{\"name\":\"pids\",\"type\":\"integer\",\"required\":false,\"default\":null,\"description\":"
                        + "\"Of a Container: how many processes it may have, where its guest can limit that. Written as a number from 1 to 4194304.\"}]}\n",
                shell.plain("explain", "Plugin.spec.limits", "-o", "json").out());
        assertEquals(
                "{\"formatVersion\":\"1.0\",\"kinds\":[\"Container\",\"Driver\",\"Plugin\",\"Process\",\"Sandbox\",\"Task\",\"Timer\",\"Rollout\",\"Agent\"]}\n",
                shell.plain("explain", "-o", "json").out());
        Result unknown = shell.plain("explain", "Plugin.spec.limit", "-o", "json");
        assertEquals(1, unknown.status());
        assertEquals("", unknown.out());
    }

    @Test
    void schemaIsAJsonSchema() {
        assertTrue(shell.plain("schema").out().contains("https://json-schema.org/draft/2020-12/schema"));
        assertEquals(
                shell.plain("schema").out(), shell.plain("schema", "document").out());
        assertTrue(shell.plain("schema", "agent").out().contains("Homeostat agent.yaml"));
        assertUsage("schema", "schema", "agent.yml");
    }

    @Test
    void validateCountsWhatIsValid() throws IOException {
        shell.write("a.yaml", Shell.sleeper("a", 1) + Shell.sleeper("b", 1));
        Result result = shell.plain("validate", "-f", directory + "/a.yaml");
        assertEquals(0, result.status());
        assertEquals("2 documents valid\n", result.out());
        assertEquals("", result.err());
    }

    @Test
    void validateChecksTheConfigurationOfAnAgentToo() throws IOException {
        shell.write("agent.yaml", "resnc: 1s\nlog: {format: xml}\n");
        String config = directory + "/agent.yaml";

        Result wrong = shell.plain("validate", "--config", config);
        assertEquals(1, wrong.status());
        assertTrue(wrong.err().contains(config + ":1:1: unknown key 'resnc'; did you mean 'resync'?\n"), wrong.err());
        assertTrue(wrong.err().contains(config + ":2:15: log.format: "), wrong.err());

        shell.write("agent.yaml", "resync: 1m\n");
        Result right = shell.plain("validate", "--config", config);
        assertEquals(0, right.status(), right.err());
        assertEquals(config + " is valid\n", right.out());
    }

    @Test
    void validateSaysWhatTheAgentWillRefuseForItsSignature() throws Exception {
        KeyPairGenerator generator = KeyPairGenerator.getInstance("Ed25519");
        KeyPair trusted = generator.generateKeyPair();
        shell.write(
                "release.pub",
                "-----BEGIN PUBLIC KEY-----\n"
                        + Base64.getEncoder().encodeToString(trusted.getPublic().getEncoded())
                        + "\n-----END PUBLIC KEY-----\n");
        String config = shell.write(
                        "agent.yaml", "signatures: {require: true, keys: [%s/release.pub]}%n".formatted(directory))
                .toString();
        shell.write("unsigned.yaml", archive("{url: a.tar.gz}"));
        shell.write("good.yaml", archive(signedBy(trusted)));
        shell.write("foreign.yaml", archive(signedBy(generator.generateKeyPair())));

        Result unsigned = shell.plain("validate", "--config", config, "-f", directory + "/unsigned.yaml");
        assertEquals(1, unsigned.status(), unsigned.out());
        assertEquals(
                directory
                        + "/unsigned.yaml:4:23: spec.source: revision 4 is not signed, and signatures are required here;"
                        + " declare source.signature\n",
                unsigned.err());
        Result foreign = shell.plain("validate", "--config", config, "-f", directory + "/foreign.yaml");
        assertEquals(1, foreign.status(), foreign.out());
        assertTrue(
                foreign.err()
                        .endsWith(
                                ": spec.source.signature: source.signature is not a signature of its SHA-256 by any of"
                                        + " signatures.keys; sign it anew, or configure the key that it was signed with\n"),
                foreign.err());
        Result good = shell.plain("validate", "--config", config, "-f", directory + "/good.yaml");
        assertEquals(0, good.status(), good.err());
        assertEquals(
                0,
                shell.plain("validate", "-f", directory + "/unsigned.yaml").status(),
                "no agent was named that would refuse it");

        Files.delete(directory.resolve("release.pub"));
        Result unreadable = shell.plain("validate", "--config", config, "-f", directory + "/good.yaml");
        assertEquals(1, unreadable.status(), unreadable.out());
        assertTrue(
                unreadable.err().startsWith(config + ": cannot use what signatures.keys names: " + directory),
                unreadable.err());
    }

    private static String archive(String source) {
        return """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: web}
                spec: {revision: "4", source: %s, entryPoint: bin/web}
                """.formatted(source);
    }

    private static String signedBy(KeyPair key) throws GeneralSecurityException {
        String sha256 = "AB".repeat(32);
        Signature signature = Signature.getInstance("Ed25519");
        signature.initSign(key.getPrivate());
        signature.update(BaseEncoding.base16().decode(sha256));
        return "{url: a.tar.gz, sha256: \"%s\", signature: \"%s\"}"
                .formatted(sha256, Base64.getEncoder().encodeToString(signature.sign()));
    }

    @Test
    void validateReportsEveryErrorOfEveryFileWithItsPlace() throws IOException {
        shell.write(
                "a.yaml", "apiVersion: homeostat.io/v1\nkind: Process\nmetadata: {name: a}\nspec: {instal: local}\n");
        shell.write("b.yaml", "kind: Proces\n");
        Result result = shell.plain("validate", "-f", directory + "/a.yaml", directory + "/b.yaml");
        assertEquals(1, result.status());
        assertEquals("", result.out());
        assertTrue(result.err().contains("a.yaml:4:8: "), result.err());
        assertTrue(result.err().contains("b.yaml:1:7: "), result.err());
        Result json = shell.plain("validate", "-o", "json", "-f", directory + "/a.yaml", directory + "/b.yaml");
        assertEquals(1, json.status());
        assertTrue(
                json.out()
                        .startsWith(
                                "{\"formatVersion\":\"1.0\",\"valid\":false,\"documents\":0,\"errors\":[{\"file\":\""),
                json.out());
        assertEquals("", json.err());
    }

    @Test
    void theQuickstartIsValid() {
        Path quickstart = Path.of("..", "examples", "quickstart").toAbsolutePath();
        assertEquals(
                "2 documents valid\n",
                shell.plain("validate", "-f", quickstart.toString()).out());
    }

    @Test
    void standardInputIsReadLikeAFile() {
        Result result = shell.typing(Shell.sleeper("a", 1)).plain("validate", "-f", "-");
        assertEquals("1 document valid\n", result.out());
        Result wrong = shell.typing("kind: [\n").plain("validate", "-f", "-");
        assertEquals(1, wrong.status());
        assertTrue(wrong.err().startsWith("-:"), wrong.err());
    }

    @Test
    void coloursAreForTerminalsAndCanBeDeclined() throws IOException {
        shell.write("a.yaml", Shell.sleeper("a", 1));
        String escape = "\u001b[";
        assertFalse(shell.run("plan", "-f", directory + "/a.yaml").out().contains(escape));
        shell.onTerminal();
        assertTrue(shell.run("plan", "-f", directory + "/a.yaml").out().contains(escape));
        assertFalse(shell.run("plan", "-f", directory + "/a.yaml", "--no-color")
                .out()
                .contains(escape));
        assertFalse(shell.with(Map.of("NO_COLOR", "1"))
                .run("plan", "-f", directory + "/a.yaml")
                .out()
                .contains(escape));
        assertTrue(shell.with(Map.of("NO_COLOR", ""))
                .run("plan", "-f", directory + "/a.yaml")
                .out()
                .contains(escape));
        assertFalse(shell.with(Map.of("TERM", "dumb"))
                .run("plan", "-f", directory + "/a.yaml")
                .out()
                .contains(escape));
    }

    @Test
    void theStackTraceIsForThoseWhoAskForIt() throws IOException {
        Files.createDirectory(directory.resolve("state"));
        Files.createDirectory(directory.resolve("state").resolve("homeostat.db"));
        Result result = shell.run("plan");
        assertEquals(1, result.status());
        assertEquals(1, result.err().lines().count(), result.err());
        assertTrue(result.err().startsWith("homeostat: plan: "), result.err());
        Result debug = shell.run("plan", "--log-level", "debug");
        assertTrue(debug.err().contains("\tat io.homeostat"), debug.err());
    }
}
