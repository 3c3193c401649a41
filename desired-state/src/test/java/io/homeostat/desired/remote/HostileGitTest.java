package io.homeostat.desired.remote;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.remote.SetFetcher.Fetched;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.zip.GZIPOutputStream;
import org.eclipse.jgit.api.Git;
import org.eclipse.jgit.lib.CommitBuilder;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.FileMode;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectInserter;
import org.eclipse.jgit.lib.PersonIdent;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.lib.TreeFormatter;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Servers and repositories that would take more memory, or time, than there is, before anybody asks who signed a commit. */
@Timeout(120)
final class HostileGitTest {
    private static final String ID = "1234567890123456789012345678901234567890";
    private static final String CAPABILITIES = "shallow multi_ack_detailed";
    private static final byte[] END = "0000".getBytes(ISO_8859_1);
    private static final String TOO_LARGE = "its directory has more than 100000 files and directories, or such with"
            + " very long names; keep documents in one of their own, and set sources.git.path";

    @TempDir
    private Path directory;

    @BeforeEach
    void begin() {
        GitSystem.use();
    }

    @Test
    void namesOfBranchesAreBounded() throws Exception {
        byte[] names = names();

        assertTooMuch(failure(names, ""));
        assertTooMuch(failure(gzip(names), "gzip"));
        assertTooMuch(failure(gzip(names), "x-gzip"));
    }

    private static byte[] names() {
        ByteArrayOutputStream names = new ByteArrayOutputStream();
        names.writeBytes(beginning(CAPABILITIES));
        String long60K = "x".repeat(60_000);
        for (int i = 0; i < 290; i++) {
            names.writeBytes(line(ID + " refs/heads/" + i + long60K + "\n"));
        }
        names.writeBytes(END);
        return names.toByteArray();
    }

    @Test
    void messagesAreBounded() throws Exception {
        ByteArrayOutputStream answer = new ByteArrayOutputStream();
        answer.writeBytes(answered());
        String long60K = "x".repeat(60_000);
        for (int i = 0; i < 290; i++) {
            answer.writeBytes(line("\2" + long60K + "\n"));
        }

        assertTooMuch(failure(both(beginning(CAPABILITIES + " side-band-64k"), END), "", answer.toByteArray()));
    }

    @Test
    void aPackOfAnyLengthIsNotAwaited() throws Exception {
        byte[] pack = ByteBuffer.allocate(12)
                .put(Constants.PACK_SIGNATURE)
                .putInt(2)
                .putInt(Integer.MAX_VALUE)
                .array();

        String failure = failure(both(beginning(CAPABILITIES), END), "", both(answered(), pack));

        assertTrue(failure.contains("it has 2147483647 objects"), failure);
    }

    /** As soon as its branches are known, it is a server of files alone, of which JGit takes objects of any length. */
    @Test
    void aServerOfFilesIsNoGitServer() throws Exception {
        AtomicBoolean asked = new AtomicBoolean();
        HttpServer started = start();
        try {
            started.createContext("/repo/info/refs", exchange -> {
                if (asked.compareAndSet(false, true)) {
                    answer(exchange, "advertisement", "", both(beginning(CAPABILITIES), END));
                } else {
                    answer(exchange, "of files", "", (ID + "\trefs/heads/main\n").getBytes(ISO_8859_1));
                }
            });
            started.createContext("/repo/objects/", exchange -> {
                exchange.sendResponseHeaders(200, Integer.MAX_VALUE);
                exchange.close();
            });

            String failure = failure(started);

            assertTrue(failure.contains("no git repository is served there"), failure);
        } finally {
            started.stop(0);
        }
    }

    @Test
    void directoriesThatAreTheSameTenTimesAreNotAllLookedAt() throws Exception {
        assertEquals(TOO_LARGE, refusal(inserter -> tenTimes(inserter, file(inserter, "a.yaml"), 10)));
        // None of which has a file, so that one would look for the first one for ever.
        assertEquals(TOO_LARGE, refusal(inserter -> tenTimes(inserter, inserter.insert(new TreeFormatter()), 20)));
    }

    private static ObjectId tenTimes(ObjectInserter inserter, ObjectId leaf, int levels) throws IOException {
        ObjectId tree = leaf;
        for (int level = 0; level < levels; level++) {
            TreeFormatter ten = new TreeFormatter();
            for (int i = 0; i < 10; i++) {
                ten.append(String.valueOf(i), FileMode.TREE, tree);
            }
            tree = inserter.insert(ten);
        }
        return tree;
    }

    @Test
    void largeDirectoriesInEachOtherAreNotAllKept() throws Exception {
        assertEquals(TOO_LARGE, refusal(inserter -> {
            ObjectId tree = file(inserter, "a.yaml");
            for (int level = 0; level < 3; level++) {
                TreeFormatter long9M = new TreeFormatter();
                long9M.append("0", FileMode.TREE, tree);
                long9M.append("x".repeat(9 << 20), FileMode.TREE, inserter.insert(new TreeFormatter()));
                tree = inserter.insert(long9M);
            }
            return tree;
        }));
    }

    @Test
    void directoriesInEachOtherAreLookedAtAsFarAsDocumentsMayBe() throws Exception {
        ObjectId deep = committed(inserter -> {
            ObjectId tree = file(inserter, "a.yaml");
            for (int level = 0; level < 25; level++) {
                TreeFormatter next = new TreeFormatter();
                next.append("d".repeat(200), FileMode.TREE, tree);
                tree = inserter.insert(next);
            }
            return tree;
        });

        Fetched.Tree read = assertInstanceOf(Fetched.Tree.class, fetched());

        assertEquals(deep.name(), read.version());
        assertEquals(ImmutableSet.of(), read.files().keySet());
    }

    private static ObjectId file(ObjectInserter inserter, String name) throws IOException {
        TreeFormatter tree = new TreeFormatter();
        tree.append(name, FileMode.REGULAR_FILE, inserter.insert(Constants.OBJ_BLOB, new byte[0]));
        return inserter.insert(tree);
    }

    /** Makes the directory of a commit. */
    private interface Maker {
        ObjectId make(ObjectInserter inserter) throws IOException;
    }

    private String refusal(Maker maker) throws Exception {
        committed(maker);
        return assertInstanceOf(Fetched.Refused.class, fetched()).why();
    }

    private Fetched fetched() throws Exception {
        return fetcher("file://" + directory.resolve("made")).fetch(Optional.empty());
    }

    private ObjectId committed(Maker maker) throws Exception {
        try (Git git = Git.init()
                        .setDirectory(directory.resolve("made").toFile())
                        .setInitialBranch("main")
                        .call();
                ObjectInserter inserter = git.getRepository().newObjectInserter()) {
            CommitBuilder commit = new CommitBuilder();
            commit.setTreeId(maker.make(inserter));
            commit.setAuthor(who());
            commit.setCommitter(who());
            commit.setMessage("published");
            ObjectId made = inserter.insert(commit);
            inserter.flush();
            RefUpdate update = git.getRepository().updateRef(Constants.R_HEADS + "main");
            update.setNewObjectId(made);
            update.forceUpdate();
            return made;
        }
    }

    private static PersonIdent who() {
        return new PersonIdent("me", "me@example.com");
    }

    private static void assertTooMuch(String failure) {
        assertTrue(failure.contains("the server sends more than 16777216 bytes beside objects"), failure);
    }

    /** gitprotocol-common(5). */
    private static byte[] line(String text) {
        return (String.format("%04x", text.length() + 4) + text).getBytes(ISO_8859_1);
    }

    /** One branch; gitprotocol-http(5). */
    private static byte[] beginning(String capabilities) {
        return both(
                both(line("# service=git-upload-pack\n"), END), line(ID + " refs/heads/main\0" + capabilities + "\n"));
    }

    /** What comes before a pack, gitprotocol-pack(5). */
    private static byte[] answered() {
        return both(both(line("shallow " + ID + "\n"), END), line("NAK\n"));
    }

    private static byte[] both(byte[] one, byte[] other) {
        return ByteBuffer.allocate(one.length + other.length)
                .put(one)
                .put(other)
                .array();
    }

    private static byte[] gzip(byte[] content) throws IOException {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream out = new GZIPOutputStream(packed)) {
            out.write(content);
        }
        return packed.toByteArray();
    }

    private String failure(byte[] names, String encoding) throws IOException {
        return failure(names, encoding, new byte[0]);
    }

    /** What comes of a server that answers so. */
    private String failure(byte[] names, String encoding, byte[] pack) throws IOException {
        HttpServer started = start();
        try {
            started.createContext("/repo/info/refs", exchange -> answer(exchange, "advertisement", encoding, names));
            started.createContext("/repo/git-upload-pack", exchange -> answer(exchange, "result", "", pack));
            return failure(started);
        } finally {
            started.stop(0);
        }
    }

    private static HttpServer start() throws IOException {
        HttpServer started = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        started.start();
        return started;
    }

    private String failure(HttpServer started) {
        String url = "http://127.0.0.1:" + started.getAddress().getPort() + "/repo";
        return assertThrows(FetchFailure.class, () -> fetcher(url).fetch(Optional.empty()))
                .words();
    }

    private static void answer(HttpExchange exchange, String type, String encoding, byte[] body) throws IOException {
        exchange.getRequestBody().readAllBytes();
        exchange.getResponseHeaders().add("Content-Type", "application/x-git-upload-pack-" + type);
        if (!encoding.isEmpty()) {
            exchange.getResponseHeaders().add("Content-Encoding", encoding);
        }
        exchange.sendResponseHeaders(200, body.length);
        try (OutputStream out = exchange.getResponseBody()) {
            out.write(body);
        }
    }

    private SetFetcher fetcher(String url) {
        return new GitFetcher(
                new AgentConfig.Git(url, "main", null, "", null, null, ImmutableList.of(), Duration.ofMinutes(1)),
                directory.resolve("work"));
    }
}
