package io.homeostat.desired.remote;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.protobuf.ByteString;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsServer;
import io.homeostat.controlplane.TestAuthority;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.AgentConfig.Tls;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.remote.AnswerLimit.Most;
import io.homeostat.desired.remote.SetFetcher.Fetched;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.eclipse.jgit.api.Git;
import org.eclipse.jgit.api.ResetCommand.ResetType;
import org.eclipse.jgit.internal.storage.dfs.DfsRepositoryDescription;
import org.eclipse.jgit.internal.storage.dfs.InMemoryRepository;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectInserter;
import org.eclipse.jgit.lib.PersonIdent;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.transport.Transport;
import org.eclipse.jgit.transport.URIish;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What is in a repository, and what comes of it. */
@Timeout(120)
final class GitFetcherTest {
    private static final Instant NOON = Instant.parse("2026-11-20T12:00:00Z");

    @TempDir
    private Path directory;

    private Path tree = Path.of("");
    private Path work = Path.of("");
    private Git git = Git.wrap(new InMemoryRepository(new DfsRepositoryDescription("none yet")));
    private Instant now = NOON;

    @BeforeEach
    void begin() throws Exception {
        GitSystem.use();
        tree = directory.resolve("repository");
        work = directory.resolve("work");
        git = Git.init().setDirectory(tree.toFile()).setInitialBranch("main").call();
    }

    @AfterEach
    void close() throws IOException {
        git.close();
        if (Files.exists(work)) {
            try (Stream<Path> left = Files.list(work)) {
                assertEquals(0, left.count(), "something was left behind");
            }
        }
    }

    @Test
    void theNewestCommitOfTheDefaultBranchIsRead() throws Exception {
        String first = commit("web.yaml", "a: 1\n", "sub/db.yml", "b: 2\n", "README.md", "read", ".ci/x.yaml", "x");
        SetFetcher fetcher = fetcher(config(null, null, ""));

        Fetched.Tree read = tree(fetcher.fetch(Optional.empty()));

        assertEquals(first, read.version());
        assertEquals(ImmutableSet.of("sub/db.yml", "web.yaml"), read.files().keySet());
        assertEquals(ByteString.copyFromUtf8("a: 1\n"), read.files().get("web.yaml"));
        assertEquals("", read.notice());
        assertEquals(new Fetched.NotModified(), fetcher.fetch(Optional.of(first)));

        String second = commit("web.yaml", "a: 2\n");
        assertEquals(second, tree(fetcher.fetch(Optional.of(first))).version());
    }

    @Test
    void aDirectoryOfABranchIsReadWithItsEnvelope() throws Exception {
        commit("web.yaml", "a: 1\n");
        git.checkout().setCreateBranch(true).setName("fleet").call();
        commit("prod/web.yaml", "a: 2\n", "prod/.homeostat/set.json", "{}", "prod/.homeostat/other.json", "{}");
        git.checkout().setName("main").call();

        Fetched.Tree read = tree(fetcher(config("fleet", null, "prod/")).fetch(Optional.empty()));

        assertEquals(
                ImmutableSet.of(".homeostat/set.json", "web.yaml"), read.files().keySet());
        assertEquals(
                "file://" + tree + "/prod",
                fetcher(config("fleet", null, "./prod/")).name());
    }

    @Test
    void aTagIsReadWhateverComesAfterIt() throws Exception {
        String tagged = commit("web.yaml", "a: 1\n");
        git.tag()
                .setName("v1")
                .setAnnotated(true)
                .setTagger(who())
                .setMessage("v1")
                .call();
        commit("web.yaml", "a: 2\n");
        SetFetcher fetcher = fetcher(config(null, "v1", ""));

        assertEquals(tagged, tree(fetcher.fetch(Optional.empty())).version());
        assertEquals(new Fetched.NotModified(), fetcher.fetch(Optional.of(tagged)));
    }

    @Test
    void whatIsNotThereIsNamed() throws Exception {
        assertEquals("it has no commit; push one", failure(config(null, null, "")));
        String commit = commit("web.yaml", "a: 1\n");
        assertEquals(
                "it has no branch other; push it, or correct sources.git.branch", failure(config("other", null, "")));
        git.getRepository().updateRef(Constants.HEAD).link("refs/heads/gone");
        assertEquals(
                "the branch that its HEAD names has no commit; set sources.git.branch, to one of: main",
                failure(config(null, null, "")));
        git.getRepository().updateRef(Constants.HEAD).link("refs/heads/main");
        assertEquals("it has no tag v1; push it, or correct sources.git.tag", failure(config(null, "v1", "")));
        assertEquals(
                new Fetched.Refused(
                        commit,
                        "there is no directory prod in the commit " + commit.substring(0, 12)
                                + "; push it, or correct sources.git.path"),
                fetcher(config(null, null, "prod")).fetch(Optional.empty()));
        assertInstanceOf(
                Fetched.Refused.class, fetcher(config(null, null, "web.yaml")).fetch(Optional.empty()), "a file");
    }

    @Test
    void aRepositoryThatCannotBeReachedIsSaidWithoutSecrets() throws Exception {
        int port;
        try (ServerSocket closed = new ServerSocket(0)) {
            port = closed.getLocalPort();
        }
        AgentConfig.Git config = config("http://me:secret@127.0.0.1:" + port + "/repo?x=secret", null, null, "", null);

        String failure = failure(config);

        String beginning = "it could not be fetched: ";
        assertTrue(failure.startsWith(beginning), failure);
        assertFalse(failure.contains("secret"), failure);
        assertEquals("http://127.0.0.1:" + port + "/repo?...", fetcher(config).name());
        assertTrue(failure(config("file:///nowhere/repo", null, null, "", null)).startsWith(beginning));
    }

    @Test
    void linksAreNotFollowed() throws Exception {
        Files.createSymbolicLink(tree.resolve("secret.yaml"), Path.of("/etc/shadow"));
        String commit = commit("web.yaml", "a: 1\n", "secret.yaml", null);

        assertEquals(
                new Fetched.Refused(
                        commit,
                        "secret.yaml is a symbolic link, which is not followed; put what is meant in its place"),
                fetcher(config(null, null, "")).fetch(Optional.empty()));
    }

    @Test
    void aSetThatIsTooLargeIsRefused() throws Exception {
        commit("a.yaml", "#".repeat(SetFetcher.MAX_BYTES / 2), "b.yaml", "#".repeat(SetFetcher.MAX_BYTES / 2 + 1));

        assertEquals(
                "it has more than 16 MiB, which is the most that a set may have",
                assertInstanceOf(
                                Fetched.Refused.class,
                                fetcher(config(null, null, "")).fetch(Optional.empty()))
                        .why());
    }

    @Test
    void aBranchThatGoesBackIsTakenAndSaid() throws Exception {
        String first = commit("web.yaml", "a: 1\n");
        now = NOON.plusSeconds(60);
        String second = commit("web.yaml", "a: 2\n");
        SetFetcher fetcher = fetcher(config("main", null, ""));
        assertEquals(second, tree(fetcher.fetch(Optional.empty())).version());

        git.reset().setMode(ResetType.HARD).setRef(first).call();

        Fetched.Tree back = tree(fetcher.fetch(Optional.of(second)));
        assertEquals(first, back.version());
        assertEquals(
                "the commit " + first.substring(0, 12)
                        + " is older than the one before it; somebody has pushed with force",
                back.notice());
    }

    @Test
    void whatAKilledAgentHasLeftIsRemoved() throws Exception {
        commit("web.yaml", "a: 1\n");
        Files.createDirectories(work.resolve("git-left").resolve("objects"));

        fetcher(config(null, null, "")).fetch(Optional.empty());

        assertFalse(Files.exists(work.resolve("git-left")));
    }

    @Test
    void aFetcherThatIsClosedLeavesAloneWhatItsSuccessorReads() throws Exception {
        Path other = Files.createDirectories(work.resolve("git-of-another"));

        fetcher(config(null, null, "")).close();

        Files.delete(other);
    }

    @Test
    void aFileOfKeysThatIsNoneIsNamed() throws Exception {
        commit("web.yaml", "a: 1\n");
        assertEquals(
                "could not read /nowhere/keys (sources.git.signedBy); it has to be there, readable for the agent",
                failure(config(null, null, "", "/nowhere/keys")));
        Path keys = Files.writeString(directory.resolve("keys"), "ssh-rsa AAAA me\n");
        assertEquals(
                keys + " (sources.git.signedBy) has a line that is no Ed25519 key; write 'ssh-ed25519 KEY' on each",
                failure(config(null, null, "", keys.toString())));
        Files.writeString(keys, "# ours\n\nssh-ed25519 A*A\n");
        assertEquals(
                keys + " (sources.git.signedBy) has a key that is not base64; copy it again",
                failure(config(null, null, "", keys.toString())));
    }

    @Test
    void keysThatOthersCanChangeAreNotTrustedByRoot() throws Exception {
        assumeTrue(TrustedPath.isRoot(), "an ordinary user has no objection");
        Path keys = Files.writeString(directory.resolve("keys"), "# ours\n");
        Files.setPosixFilePermissions(keys, PosixFilePermissions.fromString("rw-rw-rw-"));

        String failure = failure(config(null, null, "", keys.toString()));
        assertTrue(failure.startsWith("could not use " + keys + " (sources.git.signedBy): "), failure);
    }

    @Test
    void aCommitThatIsNotSignedIsRefusedWhereItHasToBe() throws Exception {
        String commit = commit("web.yaml", "a: 1\n");
        Path keys = Files.writeString(
                directory.resolve("keys"),
                "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA me\n");

        assertEquals(
                new Fetched.Refused(
                        commit,
                        "the commit " + commit.substring(0, 12)
                                + " is not taken: it is not signed; sign it with a key of sources.git.signedBy"),
                fetcher(config(null, null, "", keys.toString())).fetch(Optional.empty()));
    }

    @Test
    void whatGitSignsWithAnSshKeyIsTaken() throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/git")) && Files.isExecutable(Path.of("/usr/bin/ssh-keygen")));
        Path ours = key("ours");
        Path other = key("other");
        Files.writeString(tree.resolve("web.yaml"), "a: 1\n");
        run("git", "add", "web.yaml");
        signed(other);
        SetFetcher fetcher = fetcher(config("main", null, "", ours + ".pub"));

        assertTrue(refusal(fetcher).contains("it is signed with another key"), refusal(fetcher));

        Files.writeString(tree.resolve("web.yaml"), "a: 2\n");
        run("git", "add", "web.yaml");
        signed(ours);
        assertEquals(
                ByteString.copyFromUtf8("a: 2\n"),
                tree(fetcher.fetch(Optional.empty())).files().get("web.yaml"));

        // Another message under the same signature.
        byte[] forged = new String(
                        git.getRepository()
                                .open(git.getRepository().resolve("HEAD"))
                                .getBytes(),
                        UTF_8)
                .replace("published", "unpublished")
                .getBytes(UTF_8);
        try (ObjectInserter inserter = git.getRepository().newObjectInserter()) {
            ObjectId id = inserter.insert(Constants.OBJ_COMMIT, forged);
            inserter.flush();
            RefUpdate update = git.getRepository().updateRef("refs/heads/main");
            update.setNewObjectId(id);
            update.forceUpdate();
        }
        assertTrue(refusal(fetcher).contains("its signature is not one of what is in it"), refusal(fetcher));
    }

    @Test
    void aRepositoryIsReachedOverTlsWithAPasswordAndACertificate() throws Exception {
        Path backend = Path.of("/usr/lib/git-core/git-http-backend");
        assumeTrue(Files.isExecutable(backend));
        String commit = commit("web.yaml", "a: 1\n");
        TestAuthority authority = new TestAuthority("authority");
        TestAuthority clients = new TestAuthority("clients");
        String ca = authority.writeCertificate(directory.resolve("ca.pem")).toString();
        TestAuthority.Issued issued = clients.issue("client");
        Tls tls = new Tls(
                ca,
                issued.writeCertificate(directory.resolve("cert.pem")).toString(),
                issued.writeKey(directory.resolve("key.pem")).toString());
        Path password = Files.writeString(directory.resolve("password"), "sesame\n");
        HttpsServer server = MutualTlsServer.start(
                authority,
                clients,
                "/",
                exchange -> GitBackend.serve(exchange, backend, tree.resolve(".git"), "me:sesame"));
        try {
            String url = "https://localhost:" + server.getAddress().getPort() + "/repository";

            Fetched.Tree read =
                    tree(new GitFetcher(secured(url, tls, password), work, new LargeSetLock()).fetch(Optional.empty()));

            assertEquals(commit, read.version());
            Files.writeString(password, "wrong");
            String refused = failure(secured(url, tls, password));
            assertTrue(refused.contains("not authorized"), refused);
            assertFalse(refused.contains("wrong"), refused);
            String stranger = failure(secured(url, new Tls(null, tls.certificate(), tls.key()), password));
            assertTrue(stranger.contains("certification path"), stranger);
            Files.delete(password);
            assertEquals(
                    "could not read " + password
                            + " (sources.git.login.passwordFile); it has to be there and readable for the agent",
                    failure(secured(url, tls, password)));
        } finally {
            server.stop(0);
        }
    }

    private static AgentConfig.Git secured(String url, @Nullable Tls tls, Path password) {
        return new AgentConfig.Git(
                url,
                "main",
                null,
                "",
                new AgentConfig.Login("me", password.toString()),
                tls,
                ImmutableList.of(),
                Duration.ofMinutes(1));
    }

    private Path key(String name) throws Exception {
        Path key = directory.resolve(name);
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key.toString());
        return key;
    }

    private void signed(Path key) throws Exception {
        run(
                "git",
                "-c",
                "gpg.format=ssh",
                "-c",
                "user.signingkey=" + key,
                "-c",
                "user.name=Ä",
                "-c",
                "user.email=me@example.com",
                "commit",
                "-q",
                "-S",
                "-m",
                "published");
    }

    private void run(String... command) throws Exception {
        ProcessBuilder builder =
                new ProcessBuilder(command).directory(tree.toFile()).redirectErrorStream(true);
        builder.environment().put("HOME", directory.toString());
        builder.environment().put("GIT_CONFIG_NOSYSTEM", "1");
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertTrue(process.waitFor(60, TimeUnit.SECONDS), output);
        assertEquals(0, process.exitValue(), output);
    }

    private static Fetched.Tree tree(Fetched fetched) {
        return assertInstanceOf(Fetched.Tree.class, fetched);
    }

    /** What is stored as a difference to it is put together in memory. */
    @Test
    void aRepositoryWithALargeFileIsNotTaken() throws Exception {
        byte[] large = new byte[(16 << 20) + 1];
        new Random(1).nextBytes(large);
        Files.write(tree.resolve("archive.bin"), large);
        commit("sets/web.yaml", "a: 1\n", "archive.bin", null);

        assertEquals(
                "it could not be fetched: it has a file of more than 16 MiB somewhere; keep documents in a repository"
                        + " without such",
                failure(config(null, null, "sets")));
    }

    @Test
    void aSignatureOfAnyLengthIsLeftOutOfWhatWasSigned() {
        String commit = "tree 1\ngpgsig -----BEGIN\n" + " x\n".repeat(100_000) + "author me\n\nwords\n";

        assertEquals(
                "tree 1\nauthor me\n\nwords\n",
                new String(GitFetcher.unsigned(commit.getBytes(StandardCharsets.UTF_8)), StandardCharsets.UTF_8));
    }

    @Test
    void aRepositoryWithADamagedObjectIsNamedAsThat() throws Exception {
        String commit = commit("web.yaml", "a: 1\n");
        String[] objects = {
            commit,
            Objects.requireNonNull(git.getRepository().resolve("HEAD^{tree}")).name(),
            Objects.requireNonNull(git.getRepository().resolve("HEAD:web.yaml")).name()
        };
        byte[] zeros = new byte[100];
        for (String object : objects) {
            Path file = tree.resolve(".git/objects/" + object.substring(0, 2) + "/" + object.substring(2));
            byte[] whole = Files.readAllBytes(file);
            for (byte[] damaged : new byte[][] {new byte[0], zeros, Arrays.copyOf(whole, whole.length / 2)}) {
                Files.delete(file);
                Files.write(file, damaged);

                String words = failure(config(null, null, ""));
                assertTrue(
                        words.endsWith("an object of the repository may be damaged, which git fsck tells there"),
                        words);
            }
            Files.write(file, whole);
        }
    }

    @Test
    void aRepositoryOfThisMachineIsServedWithoutWordsOnStandardError() throws Exception {
        commit("web.yaml", "a: 1\n");

        try (Transport transport = Transport.open(git.getRepository(), new URIish("file://" + tree))) {
            assertInstanceOf(LocalGit.class, transport, "JGit's own prints stacks");
        }
    }

    @Test
    void aRedirectToALinkLocalAddressIsNotFollowed() throws Exception {
        try (HttpClient client = HttpClients.open(null, "")) {
            GitConnections connections =
                    new GitConnections(new URIish("https://git.example.com/repo"), client, new AnswerLimit(Most.LARGE));

            IOException refused = assertThrows(
                    IOException.class,
                    () -> connections.create(
                            URI.create("http://169.254.169.254/repo/info/refs").toURL()));
            assertTrue(String.valueOf(refused.getMessage()).contains("link-local address"), refused.getMessage());
            assertEquals(
                    "GET",
                    new GitConnections(new URIish("http://169.254.1.1/repo"), client, new AnswerLimit(Most.LARGE))
                            .create(URI.create("http://169.254.1.1/repo").toURL())
                            .getRequestMethod());
        }
    }

    @Test
    void aServerMayRedirectToWhatAUrlMayNotHaveAndSayThatNothingIsPacked() throws Exception {
        List<String> asked = new CopyOnWriteArrayList<>();
        HttpServer server = server(exchange -> {
            String path = exchange.getRequestURI().getRawPath();
            asked.add(path);
            exchange.getResponseHeaders().add("Content-Encoding", "GZip");
            if (path.startsWith("/a")) {
                exchange.getResponseHeaders().add("Location", "/{b}/info/refs?service=git-upload-pack");
            } else if (path.startsWith("/%7Bb%7D")) {
                exchange.getResponseHeaders().add("Location", "http://my_host/c/info/refs?service=git-upload-pack");
            }
            exchange.sendResponseHeaders(302, -1);
            exchange.close();
        });
        try {
            String failure =
                    failure(config("http://127.0.0.1:" + server.getAddress().getPort() + "/a", "main", null, "", null));

            assertEquals(List.of("/a/info/refs", "/%7Bb%7D/info/refs"), asked, failure);
            assertTrue(
                    failure.endsWith(
                            "the server redirects to a host that can't be fetched from, as its name 'my_host' has '_';"
                                    + " use its address or another name"),
                    failure);
        } finally {
            server.stop(0);
        }
    }

    @Test
    void aLoginIsToldToTheDeclaredServerAlone() throws Exception {
        commit("web.yaml", "a: 1\n");
        Path password = Files.writeString(directory.resolve("password"), "sesame\n");
        List<String> told = new CopyOnWriteArrayList<>();
        HttpServer other = server(exchange -> {
            told.addAll(exchange.getRequestHeaders().getOrDefault("Authorization", List.of()));
            exchange.getResponseHeaders().add("WWW-Authenticate", "Basic realm=\"git\"");
            exchange.sendResponseHeaders(401, -1);
            exchange.close();
        });
        String there = "127.0.0.1:" + other.getAddress().getPort();
        AtomicBoolean asksForLogin = new AtomicBoolean();
        HttpServer declared = server(exchange -> {
            boolean login = asksForLogin.get() && exchange.getRequestHeaders().getFirst("Authorization") == null;
            exchange.getResponseHeaders()
                    .add(
                            login ? "WWW-Authenticate" : "Location",
                            login ? "Basic realm=\"git\"" : "http://" + there + exchange.getRequestURI());
            exchange.sendResponseHeaders(login ? 401 : 302, -1);
            exchange.close();
        });
        try {
            String url = "http://127.0.0.1:" + declared.getAddress().getPort() + "/repository";
            AgentConfig.Git config = new AgentConfig.Git(
                    url,
                    "main",
                    null,
                    "",
                    new AgentConfig.Login("me", password.toString()),
                    null,
                    ImmutableList.of(),
                    Duration.ofMinutes(1));

            String failure = failure(config);

            assertTrue(failure.contains(there + ": the server redirects there, and a login is wanted"), failure);
            asksForLogin.set(true);
            failure(config);
            assertEquals(List.of(), told);
        } finally {
            declared.stop(0);
            other.stop(0);
        }
    }

    @Test
    void aServerThatQuotesTheRequestGivesNothingAway() throws Exception {
        Path password = Files.writeString(directory.resolve("password"), "sesame\n");
        HttpServer server = server(exchange -> {
            String login = exchange.getRequestHeaders().getFirst("Authorization");
            if (login == null) {
                exchange.getResponseHeaders().add("WWW-Authenticate", "Basic realm=\"git\"");
                exchange.sendResponseHeaders(401, -1);
            } else {
                String words =
                        "ERR you sent " + exchange.getRequestURI() + ", " + login + ", me:sesame, sesame, s3same";
                exchange.getResponseHeaders().add("Content-Type", "application/x-git-upload-pack-advertisement");
                byte[] answer = ("001e# service=git-upload-pack\n0000%04x".formatted(words.length() + 4) + words)
                        .getBytes(StandardCharsets.US_ASCII);
                exchange.sendResponseHeaders(200, answer.length);
                exchange.getResponseBody().write(answer);
            }
            exchange.close();
        });
        String url = "http://127.0.0.1:" + server.getAddress().getPort() + "/repository?key=s3same";
        AgentConfig.Git config = secured(url, null, password);
        try (GitTarget target = new GitTarget(config, directory, new PersonIdent("me", "me@example.com"))) {
            for (String failure : List.of(
                    failure(config),
                    assertThrows(FetchFailure.class, target::read).words())) {
                assertTrue(failure.contains("you sent /repository?(masked)"), failure);
                assertTrue(failure.endsWith(", Basic (masked), (masked), (masked), (masked)"), failure);
            }
        } finally {
            server.stop(0);
        }
    }

    private static HttpServer server(HttpHandler handler) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", handler);
        server.start();
        return server;
    }

    private static String refusal(SetFetcher fetcher) throws Exception {
        return assertInstanceOf(Fetched.Refused.class, fetcher.fetch(Optional.empty()))
                .why();
    }

    private String failure(AgentConfig.Git config) {
        return assertThrows(FetchFailure.class, () -> fetcher(config).fetch(Optional.empty()))
                .words();
    }

    private SetFetcher fetcher(AgentConfig.Git config) {
        return new GitFetcher(config, work, new LargeSetLock());
    }

    private AgentConfig.Git config(@Nullable String branch, @Nullable String tag, String path) {
        return config(branch, tag, path, null);
    }

    private AgentConfig.Git config(
            @Nullable String branch, @Nullable String tag, String path, @Nullable String signedBy) {
        return config("file://" + tree, branch, tag, path, signedBy);
    }

    private static AgentConfig.Git config(
            String url, @Nullable String branch, @Nullable String tag, String path, @Nullable String signedBy) {
        return new AgentConfig.Git(
                url,
                branch,
                tag,
                path,
                null,
                null,
                signedBy == null ? ImmutableList.of() : ImmutableList.of(signedBy),
                Duration.ofMinutes(1));
    }

    private PersonIdent who() {
        return new PersonIdent("me", "me@example.com", now, ZoneOffset.UTC);
    }

    /** @param files paths and what is in them; null: what is there already */
    private String commit(@Nullable String... files) throws Exception {
        for (int i = 0; i < files.length; i += 2) {
            String path = String.valueOf(files[i]);
            String text = files[i + 1];
            Path file = tree.resolve(path);
            if (text != null) {
                Files.createDirectories(file.getParent());
                Files.writeString(file, text);
            }
            git.add().addFilepattern(path).call();
        }
        return git.commit()
                .setMessage("published")
                .setAuthor(who())
                .setCommitter(who())
                .setSign(false)
                .call()
                .name();
    }
}
