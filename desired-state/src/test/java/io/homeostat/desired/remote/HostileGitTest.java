package io.homeostat.desired.remote;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.primitives.Bytes;
import com.google.common.util.concurrent.Uninterruptibles;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.remote.SetFetcher.Fetched;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
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
    private static final String HEAD = "HTTP/1.1 200 OK\r\nConnection: close\r\n";

    /** An answer with one branch. */
    private static final String SERVED = chunked("advertisement", both(beginning(CAPABILITIES), END)) + "0\r\n\r\n";

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

    @Test
    void manyNamesOfBranchesAreReadWhenNothingLargeIs() throws Exception {
        byte[] names = names(30);
        HttpServer started = start();
        LargeSetLock large = new LargeSetLock();
        large.acquire();
        try {
            started.createContext("/repo/info/refs", exchange -> answer(exchange, "advertisement", "", names));
            GitFetcher fetcher = new GitFetcher(config(url(started)), directory.resolve("work"), large);
            FutureTask<Fetched> fetched = new FutureTask<>(() -> fetcher.fetch(Optional.of(ID)));
            Thread.ofVirtual().start(fetched);
            await("the names").atMost(Duration.ofMinutes(1)).until(large::isAwaited);
            large.release();

            assertEquals(new Fetched.NotModified(), fetched.get(1, TimeUnit.MINUTES));
        } finally {
            started.stop(0);
        }
    }

    private static byte[] names() {
        return names(290);
    }

    private static byte[] names(int count) {
        ByteArrayOutputStream names = new ByteArrayOutputStream();
        names.writeBytes(beginning(CAPABILITIES));
        String long60K = "x".repeat(60_000);
        for (int i = 0; i < count; i++) {
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
        String failure = failure(both(beginning(CAPABILITIES), END), "", both(answered(), pack(Integer.MAX_VALUE)));

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
    void trailersWithoutEndAreNotRead() throws Exception {
        for (String trailer : List.of("T: " + "x".repeat(8000) + "\r\n", "T: x\r\n", "T")) {
            // The branches are cut off, so that more of them is awaited.
            String branches = chunked("advertisement", beginning(CAPABILITIES)) + "0\r\n";
            assertCutOff(branches, trailer, "", "");
            // A pack that is cut off.
            assertCutOff(SERVED, "", chunked("result", answered()) + "0\r\n", trailer);
        }
    }

    @Test
    void headersWithoutEndAreNotRead() throws Exception {
        for (String header : List.of("A: b\r\n", "a".repeat(8000))) {
            assertCutOff(HEAD, header, "", "");
            assertCutOff(SERVED, "", HEAD, header);
        }
    }

    @Test
    void interimAnswersWithoutEndAreNotRead() throws Exception {
        for (String interim : List.of("HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")) {
            assertCutOff("", interim, "", "");
            assertCutOff(SERVED, "", "", interim);
        }
    }

    @Test
    void theRestOfAnAnswerThatIsNoneIsNotRead() throws Exception {
        for (String status : List.of("401 Unauthorized", "404 Not Found", "500 Internal Server Error")) {
            assertCutOff("HTTP/1.1 " + status + "\r\n\r\n", "x", "", "");
            assertCutOff(SERVED, "", "HTTP/1.1 " + status + "\r\n\r\n", "x");
        }
    }

    private void assertCutOff(String refs, String refsAgain, String pack, String packAgain) throws Exception {
        try (RawServer server = new RawServer(refs, refsAgain, pack, packAgain, false)) {
            assertThrows(FetchFailure.class, () -> fetcher(server.url()).fetch(Optional.empty()));

            await("what has no end").atMost(Duration.ofMinutes(1)).untilTrue(server.sends);
            assertTrue(server.isCutOff(), "all of it was read");
        }
    }

    @Test
    void aFetchEndsInTimeWhateverTrickles() throws Exception {
        assertInTime("", "x");
        assertInTime(HEAD, "no header\r\n");
        // A line that is not at its end.
        assertInTime(chunked("advertisement", beginning(CAPABILITIES)), "1\r\nf\r\n");
    }

    private void assertInTime(String refs, String refsAgain) throws Exception {
        try (RawServer server = new RawServer(refs, refsAgain, "", "", true)) {
            // On a busy machine, nothing is asked for within the first one.
            for (Duration limit = Duration.ofSeconds(1); !server.sends.get(); limit = limit.multipliedBy(2)) {
                GitFetcher fetcher =
                        new GitFetcher(config(server.url()), directory.resolve("work"), new LargeSetLock(), limit);

                FetchFailure failure = assertThrows(FetchFailure.class, () -> fetcher.fetch(Optional.empty()));

                assertEquals(
                        "it could not be fetched: no complete answer within " + limit.toSeconds() + " s",
                        failure.words());
            }
            assertTrue(server.isCutOff(), "all of it was read");
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

    /** The head of a pack. */
    private static byte[] pack(int objects) {
        return ByteBuffer.allocate(12)
                .put(Constants.PACK_SIGNATURE)
                .putInt(2)
                .putInt(objects)
                .array();
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
        return assertThrows(FetchFailure.class, () -> fetcher(url(started)).fetch(Optional.empty()))
                .words();
    }

    private static String url(HttpServer started) {
        return "http://127.0.0.1:" + started.getAddress().getPort() + "/repo";
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
        return new GitFetcher(config(url), directory.resolve("work"), new LargeSetLock());
    }

    private static AgentConfig.Git config(String url) {
        return new AgentConfig.Git(url, "main", null, "", null, null, ImmutableList.of(), Duration.ofMinutes(1));
    }

    /** The head of an answer, and its first chunk. */
    private static String chunked(String type, byte[] chunk) {
        return HEAD + "Content-Type: application/x-git-upload-pack-" + type + "\r\nTransfer-Encoding: chunked\r\n\r\n"
                + Integer.toHexString(chunk.length) + "\r\n" + new String(chunk, ISO_8859_1) + "\r\n";
    }

    /** A server that goes by no protocol: one answer a connection, whose end it sends again and again. */
    private static final class RawServer implements AutoCloseable {
        private static final int MOST = 64 << 20;

        private final ServerSocket socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());

        /** Of each connection, whether the client has gone before everything was sent. */
        private final Queue<CompletableFuture<Boolean>> connections = new ConcurrentLinkedQueue<>();

        /** Whether something without end was asked for. */
        private final AtomicBoolean sends = new AtomicBoolean();

        /** Between two pieces; for ever. */
        private final CountDownLatch pause = new CountDownLatch(1);

        private final Answer refs;
        private final Answer pack;
        private final boolean isSlow;

        /** @param again nothing, or the piece that is sent again and again */
        private record Answer(String beginning, String again) {}

        RawServer(String refs, String refsAgain, String pack, String packAgain, boolean isSlow) throws IOException {
            this.refs = new Answer(refs, refsAgain);
            this.pack = new Answer(pack, packAgain);
            this.isSlow = isSlow;
            Thread.ofVirtual().start(this::accept);
        }

        String url() {
            return "http://127.0.0.1:" + socket.getLocalPort() + "/repo";
        }

        /** Waits until the client has gone, and returns whether that was before everything was sent. */
        boolean isCutOff() throws Exception {
            boolean all = true;
            for (CompletableFuture<Boolean> connection : connections) {
                all &= connection.get(60, TimeUnit.SECONDS);
            }
            return all;
        }

        private void accept() {
            try {
                while (true) {
                    Socket accepted = socket.accept();
                    CompletableFuture<Boolean> isCutOff = new CompletableFuture<>();
                    connections.add(isCutOff);
                    Thread.ofVirtual().start(() -> isCutOff.complete(serve(accepted)));
                }
            } catch (IOException e) {
                // It was closed.
            }
        }

        private boolean serve(Socket accepted) {
            try (accepted) {
                Answer answer = asked(accepted.getInputStream()) ? refs : pack;
                OutputStream out = accepted.getOutputStream();
                out.write(answer.beginning().getBytes(ISO_8859_1));
                return answer.again().isEmpty() || sendAgain(out, answer.again().getBytes(ISO_8859_1));
            } catch (IOException e) {
                return true;
            }
        }

        /** Reads a request; whether it asks for the branches. */
        private static boolean asked(InputStream in) throws IOException {
            StringBuilder head = new StringBuilder();
            for (int next = 0; next >= 0 && head.indexOf("\r\n\r\n") < 0; head.append((char) next)) {
                next = in.read();
            }
            Matcher length = Pattern.compile("(?i)content-length: (\\d+)").matcher(head);
            in.readNBytes(length.find() ? Integer.parseInt(length.group(1)) : 0);
            return head.indexOf("GET") == 0;
        }

        /** Sends a piece until everything is sent, of which it returns false. */
        private boolean sendAgain(OutputStream out, byte[] again) throws IOException {
            sends.set(true);
            int times = isSlow ? 1 : 1 + 60_000 / again.length;
            byte[] many = Bytes.concat(Collections.nCopies(times, again).toArray(byte[][]::new));
            for (int sent = 0; sent < MOST; sent += many.length) {
                out.write(many);
                if (isSlow) {
                    assertFalse(Uninterruptibles.awaitUninterruptibly(pause, 20, TimeUnit.MILLISECONDS));
                }
            }
            return false;
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }
}
