package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.Lists;
import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.google.protobuf.ByteString;
import io.homeostat.desired.fleet.PublishedSet;
import io.homeostat.desired.fleet.SequenceFloor;
import io.homeostat.desired.fleet.SetFile;
import io.homeostat.desired.fleet.SetReader;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.signature.SigningKey;
import io.homeostat.desired.state.StoredSet.Highest;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.Key;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.eclipse.jgit.api.Git;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the story of publishing does not tell: what a published set contains, and where it can be published. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class PublishTest {
    private static final Instant NOW = Instant.ofEpochSecond(1_800_000_000);

    private Path directory;
    private Path documents;
    private Path target;
    private Shell shell;

    @BeforeEach
    void openShell() throws IOException {
        directory = Shell.shortDirectory();
        documents = Files.createDirectory(directory.resolve("fleet"));
        target = directory.resolve("set.json");
        shell = new Shell(directory)
                .asOrdinaryUser()
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

        assertEquals(0, published.status(), published::toString);
        SigningKey signing = SigningKey.read(key);
        PublishedSet set = new SetReader(rules(true, "default"), signing.trusted())
                .read(ByteString.copyFrom(Files.readAllBytes(target)), "");
        assertEquals(
                ImmutableList.of("db/main.yml", "web.yaml"),
                set.documents().keySet().asList());
        assertEquals(process("web", "1"), set.documents().get("web.yaml"));
        assertEquals(ImmutableList.of(signing.id()), set.signers());
    }

    @Test
    void noSequenceComesAfterTheLargestOne() throws Exception {
        write("web.yaml", process("web", "1"));
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
        Path thief = key();
        SigningKey stolen = SigningKey.read(thief);
        SetFile theirs = SetFile.of(
                "default", SetFile.MAX_SEQUENCE, NOW, ImmutableSortedMap.of("a.yaml", ""), Optional.of(stolen));
        Files.write(target, theirs.bytes());
        ImmutableList<Highest> taken = ImmutableList.of(new Highest(stolen.id(), SetFile.MAX_SEQUENCE, "theirs"));
        String key = key().toString();
        ImmutableSet<String> instead = SigningKey.read(Path.of(key)).trusted().ids();
        ImmutableSet<String> beside =
                ImmutableSet.<String>builder().addAll(instead).add(stolen.id()).build();
        assertRefused("" + SetFile.MAX_SEQUENCE, publish("--key", key, "--config", trusting(thief, Path.of(key))));

        Files.delete(target);
        assertEquals(0, publish("--key", key).status());

        PublishedSet ours = new SetReader(
                        rules(true, "default"), SigningKey.read(Path.of(key)).trusted())
                .read(ByteString.copyFrom(Files.readAllBytes(target)), "");
        assertEquals(1_800_000_000, ours.sequence());
        assertTrue(SequenceFloor.of(taken, beside, true).refusal(ours).isPresent());
        assertEquals(Optional.empty(), SequenceFloor.of(taken, instead, true).refusal(ours));
    }

    @Test
    void aSequenceOfNoTrustedKeyIsNotSigned() throws Exception {
        write("web.yaml", process("web", "1"));
        Path ours = key();
        Path theirs = key();
        SigningKey others = SigningKey.read(theirs);
        long ahead = NOW.plus(Duration.ofDays(2)).getEpochSecond();

        for (Optional<SigningKey> signer : List.of(Optional.<SigningKey>empty(), Optional.of(others))) {
            for (long sequence : List.of(ahead, SetFile.MAX_SEQUENCE - 1, SetFile.MAX_SEQUENCE)) {
                publishAs(signer, sequence);
                assertPublished(NOW.getEpochSecond(), publish("--key", ours.toString()));
            }
            // Several are published in a second, and clocks differ.
            publishAs(signer, NOW.getEpochSecond() + 1000);
            assertPublished(NOW.getEpochSecond() + 1001, publish("--key", ours.toString()));
        }

        publishAs(Optional.of(others), ahead);
        assertPublished(ahead + 1, publish("--key", ours.toString(), "--config", trusting(theirs, ours)));
        write("web.yaml", process("web", "2"));
        assertPublished(ahead + 2, publish("--key", ours.toString()));
    }

    @Test
    void aSequenceThatIsFarAheadIsOnlyFollowedByForce() throws Exception {
        write("web.yaml", process("web", "1"));
        Path key = key();
        long far = NOW.plus(Duration.ofDays(3651)).getEpochSecond();
        for (Optional<SigningKey> signer : List.of(Optional.<SigningKey>empty(), Optional.of(SigningKey.read(key)))) {
            publishAs(signer, far);
            String[] options = signer.isPresent() ? new String[] {"--key", key.toString()} : new String[0];
            assertRefused("is more than ten years ahead of the clock of this machine", publish(options));
            assertPublished(far + 1, publish(Lists.asList("--force", options).toArray(String[]::new)));
        }
    }

    private void publishAs(Optional<SigningKey> signer, long sequence) throws IOException {
        Files.write(
                target,
                SetFile.of("default", sequence, NOW, ImmutableSortedMap.of("a.yaml", process("a", "1")), signer)
                        .bytes());
    }

    private static void assertPublished(long sequence, Result result) {
        assertEquals(0, result.status(), result::toString);
        assertTrue(result.out().contains("as sequence " + sequence + " to"), result::toString);
    }

    /** A configuration of machines that trust these keys. */
    private String trusting(Path... keys) throws IOException {
        String files = Arrays.stream(keys).map(PublishTest::publicHalf).collect(Collectors.joining(", "));
        return Files.writeString(
                        directory.resolve("trusting.yaml"), "signatures: {documents: {keys: [" + files + "]}}\n")
                .toString();
    }

    private static String publicHalf(Path key) {
        return key + ".pub";
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
                "sources.bucket",
                run("publish", "-f", documents.toString(), "--to", "bucket", "--config", config.toString()));
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

    /** Makes a pair of keys, and returns the file of the private one. */
    private Path key() throws Exception {
        KeyPair pair = KeyPairGenerator.getInstance("Ed25519").generateKeyPair();
        Path file = Files.createTempFile(directory, "key", "");
        Files.writeString(file, pem("PRIVATE KEY", pair.getPrivate()));
        Files.writeString(Path.of(publicHalf(file)), pem("PUBLIC KEY", pair.getPublic()));
        return file;
    }

    private static String pem(String what, Key key) {
        return "-----BEGIN " + what + "-----\n" + Base64.getEncoder().encodeToString(key.getEncoded()) + "\n-----END "
                + what + "-----\n";
    }

    private static AgentConfig.SignedSets rules(boolean require, String fleet) {
        return new AgentConfig.SignedSets(require, ImmutableList.of(), fleet);
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
