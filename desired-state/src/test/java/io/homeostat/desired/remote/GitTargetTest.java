package io.homeostat.desired.remote;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.sun.net.httpserver.HttpServer;
import io.homeostat.desired.fleet.PublishedSet;
import io.homeostat.desired.fleet.SetFile;
import io.homeostat.desired.fleet.SetReader;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.remote.SetFetcher.Fetched;
import io.homeostat.desired.signature.TrustedKeys;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.HexFormat;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Stream;
import org.eclipse.jgit.api.Git;
import org.eclipse.jgit.lib.PersonIdent;
import org.eclipse.jgit.lib.Repository;
import org.eclipse.jgit.revwalk.RevCommit;
import org.eclipse.jgit.storage.file.FileRepositoryBuilder;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** On a real repository. */
class GitTargetTest {
    private static final PersonIdent AUTHOR =
            new PersonIdent("homeostat publish", "publish@example.org", Instant.ofEpochSecond(7), ZoneOffset.UTC);

    @TempDir
    Path directory;

    private Path repository;
    private Path temporary;

    @BeforeEach
    void make() throws Exception {
        GitSystem.use();
        repository = directory.resolve("fleet.git");
        temporary = Files.createDirectory(directory.resolve("tmp"));
        Git.init()
                .setBare(true)
                .setDirectory(repository.toFile())
                .setInitialBranch("main")
                .call()
                .close();
    }

    @Test
    void theFirstSetIsTheFirstCommit() throws Exception {
        try (GitTarget target = target(null, "")) {
            assertEquals(Optional.empty(), target.read());
            assertTrue(target.write(set(1, "web.yaml", "a: 1\n")));
        }

        assertEquals("a: 1\n", published("", 1).documents().get("web.yaml"));
        assertEquals(ImmutableList.of(), left(), "nothing temporary is left");
    }

    /** In the background it would still write to what is removed. */
    @Test
    void nothingIsCollectedAfterAFetch() throws Exception {
        try (Repository opened =
                new FileRepositoryBuilder().setGitDir(repository.toFile()).build()) {
            assertFalse(opened.getConfig().getBoolean("gc", "autoDetach", true));
            assertEquals(0, opened.getConfig().getInt("gc", "auto", 1));
        }
    }

    @Test
    void aSetReplacesTheOneBeforeAndLeavesEverythingElse() throws Exception {
        commit("README.md", "words");
        commit("fleet/README.md", "more words");
        commit("fleet/old.yaml", "a: 0\n");
        commit("other.yaml", "a: 9\n");
        try (GitTarget target = target("main", "fleet/")) {
            Fetched.Tree found = (Fetched.Tree) target.read().orElseThrow();
            assertEquals(ImmutableList.of("old.yaml"), found.files().keySet().asList());
            assertTrue(target.write(set(2, "db/new.yaml", "a: 1\n")));
        }

        PublishedSet set = published("fleet", 2);
        assertEquals(ImmutableSortedMap.of("db/new.yaml", "a: 1\n"), set.documents());
        assertEquals(
                ImmutableList.of(
                        "README.md", "fleet/.homeostat/set.json", "fleet/README.md", "fleet/db/new.yaml", "other.yaml"),
                files());
        RevCommit newest = log().getFirst();
        assertEquals("Publish sequence 2\n", newest.getFullMessage());
        assertEquals("homeostat publish", newest.getAuthorIdent().getName());
        assertEquals(5, log().size(), "on top of what was there");
    }

    @Test
    void whoComesSecondIsRefused() throws Exception {
        try (GitTarget mine = target("main", "");
                GitTarget other = target("main", "")) {
            mine.read();
            other.read();
            assertTrue(mine.write(set(1, "web.yaml", "a: 1\n")));
            assertFalse(other.write(set(2, "web.yaml", "a: 2\n")));
            assertEquals("a: 1\n", published("", 1).documents().get("web.yaml"));

            other.read();
            assertTrue(other.write(set(2, "web.yaml", "a: 2\n")));
        }
    }

    @Test
    void aCommitElsewhereInTheRepositoryIsNoReason() throws Exception {
        commit("README.md", "words");
        try (GitTarget target = target("main", "fleet")) {
            target.read();
            commit("README.md", "other words");
            assertTrue(target.write(set(1, "web.yaml", "a: 1\n")));
        }
        assertEquals(3, log().size());
    }

    @Test
    void whatCantBePublishedToIsSaid() throws Exception {
        assertFails(
                "sources.git.tag is set, and what a tag names does not change; set a branch to publish to, and move the tag"
                        + " afterwards",
                new AgentConfig.Git(
                        repository.toUri().toString(),
                        null,
                        "v1",
                        "",
                        null,
                        null,
                        ImmutableList.of(),
                        Duration.ofMinutes(1)));
        FetchFailure gone = assertThrows(
                FetchFailure.class,
                () -> target(config("file://" + directory + "/gone.git", "main", ""))
                        .read());
        assertTrue(gone.words().startsWith("it can't be read: "), gone.words());
        commit("large.yaml", "#".repeat(SetFetcher.MAX_BYTES + 1));
        assertFails(
                "it can't be read: large.yaml has more than 16 MiB, which is the most that a set may have",
                config(repository.toUri().toString(), "main", ""));
    }

    @Test
    void aServerThatRefusesTheCommitIsNamedWithTheRemedy() throws Exception {
        commit("README.md", "words");
        Files.createFile(repository.resolve("refs/heads/main.lock"));
        try (GitTarget target = target("main", "")) {
            target.read();
            String refused = assertThrows(FetchFailure.class, () -> target.write(set(1, "web.yaml", "a: 1\n")))
                    .words();
            assertTrue(refused.startsWith("the server refuses the commit (REJECTED_OTHER_REASON): "), refused);
            assertTrue(
                    refused.endsWith(
                            "; let sources.git.login push to refs/heads/main there, or set another sources.git.branch"),
                    refused);
        }
    }

    /** It would be published, and no machine would take it. */
    @Test
    void whereCommitsHaveToBeSignedNothingIsPublished() {
        assertFails(
                "sources.git.signedBy asks for commits that are signed, and these are not; commit with git commit -S"
                        + " and push, or sign the set itself (signatures.documents)",
                new AgentConfig.Git(
                        repository.toUri().toString(),
                        null,
                        null,
                        "",
                        null,
                        null,
                        ImmutableList.of("/etc/homeostat/committers.pub"),
                        Duration.ofMinutes(1)));
    }

    @Test
    void aSetIsPublishedToAWebServerWithAPassword() throws Exception {
        Path backend = Path.of("/usr/lib/git-core/git-http-backend");
        assumeTrue(Files.isExecutable(backend), "git is not installed");
        Files.writeString(repository.resolve("config"), "[http]\n\treceivepack = true\n", StandardOpenOption.APPEND);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> GitBackend.serve(exchange, backend, repository, "me:sesame"));
        server.start();
        // Longer than what JGit keeps before it sends it in pieces.
        String text = "#" + HexFormat.of().formatHex(random(2 << 20)) + "\n";
        try (GitTarget target = target(new AgentConfig.Git(
                "http://127.0.0.1:" + server.getAddress().getPort() + "/repository",
                "main",
                null,
                "",
                new AgentConfig.Login(
                        "me",
                        Files.writeString(directory.resolve("password"), "sesame")
                                .toString()),
                null,
                ImmutableList.of(),
                Duration.ofMinutes(1)))) {
            assertEquals(Optional.empty(), target.read());
            assertTrue(target.write(set(1, "web.yaml", "a: 1\n")));
            assertTrue(target.read().isPresent());
            assertTrue(target.write(set(2, "web.yaml", text)));
        } finally {
            server.stop(0);
        }

        assertEquals(text, published("", 2).documents().get("web.yaml"));
    }

    private static byte[] random(int length) {
        byte[] random = new byte[length];
        new Random(1).nextBytes(random);
        return random;
    }

    private void assertFails(String message, AgentConfig.Git config) {
        try (GitTarget target = target(config)) {
            assertEquals(message, assertThrows(FetchFailure.class, target::read).words());
        }
    }

    private GitTarget target(@Nullable String branch, String path) {
        return target(config(repository.toUri().toString(), branch, path));
    }

    private GitTarget target(AgentConfig.Git config) {
        return new GitTarget(config, temporary, AUTHOR);
    }

    private static AgentConfig.Git config(String url, @Nullable String branch, String path) {
        return new AgentConfig.Git(url, branch, null, path, null, null, ImmutableList.of(), Duration.ofMinutes(1));
    }

    private static SetFile set(long sequence, String name, String text) {
        return SetFile.of("default", sequence, Instant.EPOCH, ImmutableSortedMap.of(name, text), Optional.empty());
    }

    /** As a machine gets it. */
    private PublishedSet published(String path, long sequence) throws Exception {
        try (GitFetcher fetcher = new GitFetcher(
                config(repository.toUri().toString(), "main", path),
                directory.resolve("machine"),
                new LargeSetLock())) {
            Fetched.Tree tree = (Fetched.Tree) fetcher.fetch(Optional.empty());
            PublishedSet set = new SetReader(
                            new AgentConfig.SignedSets(false, ImmutableList.of(), "default"), TrustedKeys.NONE)
                    .readTree(tree.files());
            assertEquals(sequence, set.sequence());
            return set;
        }
    }

    private void commit(String path, String text) throws Exception {
        Path clone = Files.createTempDirectory(directory, "clone");
        try (Git git = Git.cloneRepository()
                .setURI(repository.toUri().toString())
                .setDirectory(clone.toFile())
                .call()) {
            Path file = clone.resolve(path);
            Files.createDirectories(file.getParent());
            Files.writeString(file, text);
            git.add().addFilepattern(".").call();
            git.commit()
                    .setAuthor(AUTHOR)
                    .setCommitter(AUTHOR)
                    .setMessage("Change")
                    .setSign(false)
                    .call();
            git.push().add("HEAD:refs/heads/main").call();
        }
    }

    private ImmutableList<String> files() throws Exception {
        Path clone = Files.createTempDirectory(directory, "clone");
        try (Git git = Git.cloneRepository()
                        .setURI(repository.toUri().toString())
                        .setBranch("main")
                        .setDirectory(clone.toFile())
                        .call();
                Stream<Path> all = Files.walk(clone)) {
            assertTrue(git.status().call().isClean());
            return all.filter(Files::isRegularFile)
                    .map(file -> clone.relativize(file).toString())
                    .filter(name -> !name.startsWith(".git/"))
                    .sorted()
                    .collect(ImmutableList.toImmutableList());
        }
    }

    private ImmutableList<RevCommit> log() throws Exception {
        try (Git git = Git.open(repository.toFile())) {
            return ImmutableList.copyOf(git.log()
                    .add(git.getRepository().resolve("refs/heads/main"))
                    .call());
        }
    }

    private ImmutableList<Path> left() throws IOException {
        try (Stream<Path> files = Files.list(temporary)) {
            return files.collect(ImmutableList.toImmutableList());
        }
    }
}
