package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.sun.net.httpserver.HttpServer;
import io.homeostat.desired.fleet.PublishedSet;
import io.homeostat.desired.fleet.SequenceFloor;
import io.homeostat.desired.fleet.SetFile;
import io.homeostat.desired.fleet.SetReader;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.signature.SigningKey;
import io.homeostat.desired.state.StoredSet.Highest;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.KeyPairGenerator;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.eclipse.jgit.api.Git;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class PublishTest {
    private static final Instant NOW = Instant.ofEpochSecond(1_800_000_000);

    private static final String ROLLOUT = """
            ---
            apiVersion: homeostat.io/v1
            kind: Rollout
            metadata: {name: web-2}
            spec: {workloads: [process/web], from: "1", to: "2"}
            """;

    private Path directory;
    private Path documents;
    private Path target;
    private Shell shell;

    @BeforeEach
    void openShell() throws IOException {
        directory = Shell.userDirectory();
        documents = Files.createDirectory(directory.resolve("fleet"));
        target = directory.resolve("set.json");
        shell = new Shell(directory)
                .with(Map.of("XDG_CONFIG_HOME", directory + "/config"))
                .at(Clock.fixed(NOW, ZoneOffset.UTC));
    }

    @AfterEach
    void cleanUp() throws IOException {
        MoreFiles.deleteRecursively(directory, RecursiveDeleteOption.ALLOW_INSECURE);
    }

    @Test
    void whatIsPublishedIsASignedSetOfAllFiles() throws Exception {
        write("web.yaml", process("web", "1"));
        write("db/main.yml", process("db", "1"));
        Path key = key();

        Result published = publish("--key", key.toString());

        assertEquals(new Result(0, "published 2 files as sequence 1800000000 to " + target + "\n", ""), published);
        SigningKey signing = SigningKey.read(key);
        PublishedSet set =
                new SetReader(rules(true, "default"), signing.trusted()).read(Files.readAllBytes(target), "");
        assertEquals(
                ImmutableList.of("db/main.yml", "web.yaml"),
                set.documents().keySet().asList());
        assertEquals(process("web", "1"), set.documents().get("web.yaml"));
        assertEquals(ImmutableList.of(signing.id()), set.signers());
        assertEquals("rw-r--r--", permissions(target));
        assertEquals(ImmutableList.of(target), listing("set.json"), "nothing else is left");
    }

    @Test
    void equalContentIsNotPublishedAgain() throws Exception {
        write("web.yaml", process("web", "1"));
        publish();

        assertEquals(
                new Result(0, "published already: 1 file, sequence 1800000000, in " + target + "\n", ""), publish());
        assertEquals(
                "published 1 file as sequence 1800000001 to " + target + "\n",
                publish("--key", key().toString()).out(),
                "what nobody has signed is signed");
    }

    /** Two publishers within a second, or one whose clock is behind. */
    @Test
    void theSequenceGrowsWhateverTheClockSays() throws Exception {
        write("web.yaml", process("web", "1"));
        Files.write(
                target,
                SetFile.of("default", 2_000_000_000, NOW, ImmutableSortedMap.of("a.yaml", ""), Optional.empty())
                        .bytes());

        assertEquals(
                "published 1 file as sequence 2000000001 to " + target + "\n",
                publish().out());
        Files.write(
                target,
                SetFile.of("default", SetFile.MAX_SEQUENCE, NOW, ImmutableSortedMap.of("a.yaml", ""), Optional.empty())
                        .bytes());
        assertRefused("the sequence there, " + SetFile.MAX_SEQUENCE + ", is the largest one", publish());
    }

    /** The steps of docs/fleet.md for a key that was stolen. */
    @Test
    void aSequenceOfAThiefCountsOnlyWhereItsKeyIsTrusted() throws Exception {
        write("web.yaml", process("web", "1"));
        SigningKey stolen = SigningKey.read(key());
        SetFile theirs = SetFile.of(
                "default", SetFile.MAX_SEQUENCE, NOW, ImmutableSortedMap.of("a.yaml", ""), Optional.of(stolen));
        Files.write(target, theirs.bytes());
        ImmutableList<Highest> taken = ImmutableList.of(new Highest(stolen.id(), SetFile.MAX_SEQUENCE, "theirs"));
        String key = key().toString();
        ImmutableSet<String> instead = SigningKey.read(Path.of(key)).trusted().ids();
        ImmutableSet<String> beside =
                ImmutableSet.<String>builder().addAll(instead).add(stolen.id()).build();
        assertRefused("have machines trust another key instead of that one", publish("--key", key));

        Files.delete(target);
        assertEquals(0, publish("--key", key).status());

        PublishedSet ours = new SetReader(
                        rules(true, "default"), SigningKey.read(Path.of(key)).trusted())
                .read(Files.readAllBytes(target), "");
        assertEquals(1_800_000_000, ours.sequence());
        assertTrue(SequenceFloor.of(taken, beside, true).refusal(ours).isPresent());
        assertEquals(Optional.empty(), SequenceFloor.of(taken, instead, true).refusal(ours));
    }

    @Test
    void aDryRunWritesNothing() throws Exception {
        write("web.yaml", process("web", "1"));

        assertEquals(
                new Result(0, "would publish 1 file as sequence 1800000000 to " + target + "\n", ""),
                publish("--dry-run"));
        assertFalse(Files.exists(target));
    }

    @Test
    void programsGetTheSameInJson() throws Exception {
        write("web.yaml", process("web", "1"));

        assertEquals(
                "{\"formatVersion\":\"1.0\",\"target\":\"" + target
                        + "\",\"fleet\":\"staging\",\"sequence\":1800000000,\"documents\":1,\"signed\":false,"
                        + "\"changed\":true,\"dryRun\":false}\n",
                publish("--fleet", "staging", "-o", "json").out());
    }

    @Test
    void whatAMachineWouldRefuseIsNotPublished() throws Exception {
        assertRefused("there is no document in " + documents + ", so nothing was published", publish());
        write("web.yaml", process("web", "1") + process("web", "2"));
        assertRefused("1 error, so nothing was published; correct the files", publish());
        assertTrue(publish().err().contains("is declared twice"));
        write("web.yaml", process("web", "1").replace("install: local", "source: {url: ./a.tar.gz}"));
        assertTrue(publish().err().contains("spec.source.url"), publish().err());
        write("web.yaml", process("web", "1"));
        Path other = Files.writeString(
                Files.createDirectory(directory.resolve("other")).resolve("web.yaml"), process("other", "1"));
        assertRefused(
                "two files that would be published as web.yaml",
                run("publish", "-f", documents.toString(), "-f", other.toString(), "--to", "file://" + target));
        assertFalse(Files.exists(target));
    }

    @Test
    void aRolloutIsPublishedWithBothRevisions() throws Exception {
        write("rollout.yaml", """
                apiVersion: homeostat.io/v1
                kind: Rollout
                metadata: {name: web-2}
                spec: {workloads: [process/web], from: "1", to: "2"}
                """);
        write("web.yaml", process("web", "1"));
        assertTrue(
                publish().err().contains("no document declares process/web at revision '2'"),
                publish().err());

        write("web.yaml", process("web", "1") + process("web", "2"));
        assertEquals(0, publish().status(), publish().err());
    }

    /** What it declares may be just what the rollout asks for. */
    @Test
    void aDocumentThatCantBeReadIsNotMissedByItsRollout() throws Exception {
        write("rollout.yaml", """
                apiVersion: homeostat.io/v1
                kind: Rollout
                metadata: {name: web-2}
                spec: {workloads: [process/web], from: "1", to: "2"}
                """);
        write("web.yaml", process("web", "1") + process("web", "2").replace("{name: web}", "{name: web"));

        Result refused = publish();

        assertRefused("1 error, so nothing was published; correct the files", refused);
        assertTrue(refused.err().contains("web.yaml:10:5: not YAML"), refused.err());
        assertFalse(refused.err().contains("no document declares"), refused.err());
    }

    /** Those that have it would all change at once. */
    @Test
    void whatARolloutBringsDoesNotChangeUnderItsRevision() throws Exception {
        write("web.yaml", process("web", "1") + process("db", "1"));
        assertEquals(0, publish().status());
        write("web.yaml", ROLLOUT + process("web", "1").replace("true", "false") + process("web", "2"));
        String from =
                "it is not what was published before under the same revision: process/web at revision '1', of rollout"
                        + " web-2; machines with that revision would change at once, whatever wave is open: write another revision"
                        + " and have the rollout bring that, or add --force";
        assertRefused("did not publish to " + target + ": " + from, publish());
        assertRefused("would not publish to " + target + ": " + from, publish("--dry-run"));

        write("web.yaml", ROLLOUT + process("web", "1") + process("web", "2"));
        assertEquals(0, publish().status(), "what is new is not changed");
        write("web.yaml", "# Another text that says the same.\n" + ROLLOUT + process("web", "1") + process("web", "2"));
        assertEquals(0, publish().status());
        write("web.yaml", ROLLOUT + process("web", "1") + process("web", "2").replace("true", "false"));
        assertRefused("process/web at revision '2', of rollout web-2;", publish());
        assertEquals(0, publish("--force").status());

        write("web.yaml", process("web", "2") + process("db", "1"));
        assertEquals(0, publish().status(), "no rollout is passed by");
    }

    /** A machine that is for neither has nothing that could change. */
    @Test
    void theSameRevisionMayBeAnotherOnOtherMachines() throws Exception {
        String placed = "metadata: {name: web}\nplacement: {matchLabels: {role: %s}}";
        String a = (process("web", "1") + process("web", "2")).replace("metadata: {name: web}", placed.formatted("a"));
        String b = a.replace("role: a", "role: b").replace("true", "false");
        write("web.yaml", ROLLOUT + a);
        assertEquals(0, publish().status(), publish().err());
        String another = ROLLOUT.replace("web-2", "web-3");
        write("web.yaml", another + a + b);
        assertEquals(0, publish().status(), publish().err());
        write("web.yaml", another + a.replace("role: a", "role: c") + b.replace("role: b", "role: a"));
        assertRefused("process/web at revision '1', of rollout web-3; process/web at revision '2'", publish());
    }

    /** Those that it was not for were not counted when its wave opened. */
    @Test
    void whomARolloutIsForDoesNotChangeOnTheWay() throws Exception {
        String everywhere = process("web", "1") + process("web", "2");
        String placed = everywhere.replace("{name: web}", "{name: web}\nplacement: {matchLabels: {role: web}}");
        write("web.yaml", ROLLOUT + placed);
        assertEquals(0, publish().status(), publish().err());

        write("web.yaml", ROLLOUT.replace("spec: {", "spec: {waves: [2, 100%], ") + everywhere);
        assertRefused(
                "did not publish to " + target
                        + ": the placement is not what was published before: process/web, of rollout"
                        + " web-2; machines that it is for now could take the new revision at once, whatever wave is open:"
                        + " rename the rollout, which then counts them from its first wave, or add --force",
                publish());
        assertEquals(0, publish("--force").status());
        write("web.yaml", ROLLOUT.replace("web-2", "web-3") + placed);
        assertEquals(0, publish().status(), publish().err());
    }

    @Test
    void whatIsThereAndCantBeReadIsNotReplaced() throws Exception {
        write("web.yaml", process("web", "1"));
        Files.writeString(target, "{\"envelope\": broken");
        assertRefused(
                "remove what is there first, as nobody can tell what may come after it:"
                        + " it is no set file: no JSON at line 1, column 14",
                publish());

        Files.delete(target);
        publish("--fleet", "staging");
        assertRefused("it was published for the fleet 'staging'", publish());
        Files.delete(target);
        Files.createDirectory(target);
        assertRefused("it is a directory; name a file in it, such as " + target + "/set.json", publish());
    }

    @Test
    void aTargetThatIsNoneIsAnsweredWithWhatThereIs() throws Exception {
        write("web.yaml", process("web", "1"));
        for (String to : List.of("", "etcdd", "ftp://a/b", "file:set.json", "http://[", "https:///a")) {
            Result refused = run("publish", "-f", documents.toString(), "--to", to);
            assertEquals(64, refused.status(), to);
            assertTrue(
                    refused.err().contains("--to: write git, bucket, etcd or https for what agent.yaml has"),
                    refused.err());
        }
        assertRefused(
                "has no sources.etcd; add it, name another file with --config, or write a URL",
                run("publish", "-f", documents.toString(), "--to", "etcd"));
        assertEquals(64, publish("--fleet", "a b").status());
        assertEquals(64, run("publish", "-f", "-", "--to", "file://" + target).status());
    }

    /** What agent.yaml has for the web server is not used for a URL. */
    @Test
    void aServerThatDoesNotLetAUrlInIsAskedByTheConfiguration() throws Exception {
        write("web.yaml", process("web", "1"));
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            exchange.sendResponseHeaders(403, -1);
            exchange.close();
        });
        server.start();
        try {
            assertRefused(
                    "the server answers 403: it does not let us read it; publish with --to https,"
                            + " which uses sources.https of agent.yaml",
                    run(
                            "publish",
                            "-f",
                            documents.toString(),
                            "--to",
                            "http://127.0.0.1:" + server.getAddress().getPort() + "/set.json"));
        } finally {
            server.stop(0);
        }
    }

    @Test
    void aWordIsWhatTheConfigurationSays() throws Exception {
        write("web.yaml", process("web", "1"));
        Path repository = directory.resolve("fleet.git");
        Git.init().setBare(true).setDirectory(repository.toFile()).call().close();
        Path config = Files.writeString(directory.resolve("agent.yaml"), """
                sources: {git: {url: "file://%s", branch: main, path: fleet}}
                signatures: {documents: {fleet: staging}}
                """.formatted(repository));

        Result published =
                run("publish", "-f", documents.toString(), "--to", "git", "--config", config.toString(), "-o", "json");

        assertTrue(published.out().contains("\"fleet\":\"staging\",\"sequence\":1800000000"), published::toString);
        try (Git git = Git.open(repository.toFile())) {
            assertEquals(
                    "Publish sequence 1800000000\n",
                    git.log()
                            .add(git.getRepository().resolve("refs/heads/main"))
                            .call()
                            .iterator()
                            .next()
                            .getFullMessage());
        }
        assertRefused(
                "has no sources.bucket; add it",
                run("publish", "-f", documents.toString(), "--to", "bucket", "--config", config.toString()));
    }

    /** Else it would be published, and every machine would go on with what it has. */
    @Test
    void whatMachinesWithThisConfigurationWouldRefuseIsNotPublished() throws Exception {
        write("web.yaml", process("web", "1"));
        byte[] encoded = KeyPairGenerator.getInstance("Ed25519")
                .generateKeyPair()
                .getPublic()
                .getEncoded();
        Path trusted = Files.writeString(
                directory.resolve("trusted.pem"),
                "-----BEGIN PUBLIC KEY-----\n" + Base64.getEncoder().encodeToString(encoded)
                        + "\n-----END PUBLIC KEY-----\n");
        Path config = Files.writeString(
                directory.resolve("agent.yaml"), "signatures: {documents: {require: true, keys: [" + trusted + "]}}\n");

        assertRefused("would refuse it: it is not signed", publish("--config", config.toString()));
        assertRefused(
                "none of its signatures is by a key of signatures.documents.keys",
                publish("--key", key().toString(), "--config", config.toString()));
        assertTrue(Files.notExists(target));
        assertEquals(
                0, publish("--fleet", "staging", "--config", config.toString()).status());
    }

    @Test
    void aKeyThatIsNoneIsNamed() throws Exception {
        write("web.yaml", process("web", "1"));
        assertRefused(
                "cannot use the key: " + documents + "/web.yaml: it has no line",
                publish("--key", documents + "/web.yaml"));
    }

    private Result publish(String... more) {
        List<String> words =
                new ArrayList<>(List.of("publish", "-f", documents.toString(), "--to", "file://" + target));
        words.addAll(List.of(more));
        return run(words.toArray(String[]::new));
    }

    private Result run(String... words) {
        return shell.plain(words);
    }

    private static void assertRefused(String message, Result result) {
        assertEquals(1, result.status(), result::toString);
        assertTrue(result.err().contains(message), result.err());
    }

    private void write(String name, String text) throws IOException {
        Path file = documents.resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }

    private Path key() throws Exception {
        byte[] encoded = KeyPairGenerator.getInstance("Ed25519")
                .generateKeyPair()
                .getPrivate()
                .getEncoded();
        return Files.writeString(
                directory.resolve("release.key"),
                "-----BEGIN PRIVATE KEY-----\n" + Base64.getEncoder().encodeToString(encoded)
                        + "\n-----END PRIVATE KEY-----\n",
                StandardCharsets.US_ASCII);
    }

    private static AgentConfig.SignedSets rules(boolean require, String fleet) {
        return new AgentConfig.SignedSets(require, ImmutableList.of(), fleet);
    }

    private static String permissions(Path file) throws IOException {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(file));
    }

    private ImmutableList<Path> listing(String name) throws IOException {
        try (var files = Files.list(directory)) {
            return files.filter(file -> file.getFileName().toString().contains(name))
                    .collect(ImmutableList.toImmutableList());
        }
    }

    private static String process(String name, String revision) {
        return """
                ---
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: %s}
                spec: {install: local, revision: "%s", entryPoint: /bin/true}
                """.formatted(name, revision);
    }
}
