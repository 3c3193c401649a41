package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.io.MoreFiles;
import com.google.common.io.Resources;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.homeostat.proto.plugin.GetStatusRequest;
import io.homeostat.proto.plugin.GuestAgentPluginGrpc;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Who may answer at a unix socket, as seen by root: the server of this process is root's, others are of processes of their own. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class ServerRuleTest {
    private static final String ROOT = "0";
    private static final String USER = "65534";
    private static final String OTHER = "1";

    private final GrpcTransport transport = new GrpcTransport();

    @TempDir
    Path root;

    private Path theirs;

    @BeforeEach
    void setUp() throws IOException {
        assumeTrue(TrustedPath.isRoot(), "only root has anything to say to sockets of others");
        chmod(root, "rwx--x--x");
        theirs = Files.createDirectory(root.resolve("theirs"));
        give(theirs, USER);
    }

    @AfterEach
    void tearDown() {
        transport.close();
    }

    @Test
    void aServerOfTheirsIsSpokenToAtALinkOfRoot() throws Exception {
        Path socket = theirs.resolve("socket");
        Path usual = Files.createSymbolicLink(root.resolve("usual"), socket);
        try (Theirs server = new Theirs(USER, socket)) {
            assertEquals(
                    Status.Code.UNAVAILABLE,
                    call(usual, ServerRule.ofPath(usual)).getCode());
            assertEquals("[PRI]", server.line());
            assertEquals(
                    Status.Code.UNAVAILABLE,
                    call(socket, ServerRule.ofProgram(socket, theirs)).getCode());
            assertEquals("[PRI]", server.line());
        }
    }

    @Test
    void aServerOfRootIsToldNothingAtALinkOfTheirs() throws Exception {
        Path secret = Files.createDirectory(root.resolve("secret"));
        chmod(secret, "rwx------");
        Path socket = Files.createSymbolicLink(theirs.resolve("socket"), secret.resolve("socket"));
        give(socket, USER);
        Path usual = Files.createSymbolicLink(root.resolve("usual"), socket);

        assertToldNothing(secret.resolve("socket"), usual);
    }

    @Test
    void norIsItWhereADirectoryOnTheWayIsALinkOfTheirs() throws Exception {
        Path secret = Files.createDirectory(root.resolve("secret"));
        Path link = Files.createSymbolicLink(theirs.resolve("below"), secret);
        give(link, USER);

        assertToldNothing(secret.resolve("socket"), link.resolve("socket"));
    }

    private void assertToldNothing(Path real, Path named) throws Exception {
        try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            server.bind(UnixDomainSocketAddress.of(real));
            CompletableFuture<String> first = CompletableFuture.supplyAsync(
                    () -> {
                        try {
                            return FirstBytes.of(server);
                        } catch (IOException e) {
                            return e.toString();
                        }
                    },
                    command -> Thread.ofPlatform().daemon().start(command));

            Status status = call(named, ServerRule.ofPath(named));

            assertEquals(Status.Code.UNAVAILABLE, status.getCode());
            String words = Objects.requireNonNull(status.getDescription());
            assertTrue(
                    words.startsWith(named + " is answered by the user root, not by " + name(USER) + ", to whom "
                            + theirs + " belongs"),
                    words);
            assertEquals("", first.get());
        }
    }

    @Test
    void anybodyMayAnswerWhereRootAloneCanChangeTheWay() throws Exception {
        assertRule("", root.resolve("socket"), USER);
        assertRule("", root.resolve("socket"), ROOT);
        // Given to who is to connect, or by a server that has become another user.
        give(Files.createFile(root.resolve("given")), USER);
        assertRule("", root.resolve("given"), OTHER);
    }

    @Test
    void whoeverHasPutItIntoADirectoryWithTheStickyBitAnswersThere() throws Exception {
        Path drop = Files.createDirectory(root.resolve("drop"));
        Files.setAttribute(drop, "unix:mode", 01777);
        Path socket = Files.createFile(drop.resolve("socket"));

        assertRule("", socket, ROOT);
        give(socket, USER);
        assertRule("", socket, USER);
        assertRule("answered by", socket, ROOT);
        assertRule("answered by", socket, OTHER);
        assertRule("told nothing", drop.resolve("missing"), ROOT);
    }

    @Test
    void whereSeveralCanChangeTheWayNobodyMay() throws Exception {
        Path socket = Files.createFile(theirs.resolve("socket"));
        chmod(theirs, "rwxrwxrwx");
        assertRule("chmod go-w " + theirs, socket, USER);

        chmod(theirs, "rwx------");
        assertRule("", socket, USER);
        give(Files.createDirectory(theirs.resolve("below")), OTHER);
        Path below = Files.createFile(theirs.resolve("below").resolve("socket"));
        assertRule("told nothing", below, USER);
        assertRule("told nothing", below, OTHER);
    }

    /** It may name any socket, and has no link to make for that. */
    @Test
    void whereAProgramNamesTheSocketItsUserAnswers() throws Exception {
        Path socket = root.resolve("socket");
        ServerRule rule = ServerRule.ofProgram(socket, theirs);

        assertTrue(rule.look().objection(user(USER)).isEmpty());
        assertTrue(rule.look().objection(user(ROOT)).orElse("").contains("answered by"));

        give(theirs, ROOT);
        assertTrue(rule.look().objection(user(ROOT)).isEmpty());
        assertTrue(
                rule.look().objection(user(USER)).isEmpty(), "by root's program, which may have become another user");

        Files.delete(theirs);
        assertTrue(rule.look().objection(user(ROOT)).isPresent());
    }

    private static void assertRule(String objection, Path socket, String server) throws IOException {
        String said = ServerRule.ofPath(socket).look().objection(user(server)).orElse("");
        assertEquals(objection.isEmpty(), said.isEmpty(), said);
        assertTrue(said.contains(objection), said);
    }

    /** How a call fails; nobody here answers one. */
    private Status call(Path socket, ServerRule rule) {
        ManagedChannel channel = transport.unix(socket, rule).build();
        try {
            return assertThrows(
                            StatusRuntimeException.class,
                            () -> ClientCalls.blockingUnaryCall(
                                    channel,
                                    GuestAgentPluginGrpc.getGetStatusMethod(),
                                    CallOptions.DEFAULT.withDeadlineAfter(60, TimeUnit.SECONDS),
                                    GetStatusRequest.getDefaultInstance()))
                    .getStatus();
        } finally {
            channel.shutdownNow();
        }
    }

    /** {@link FirstBytes} as another user. */
    private final class Theirs implements AutoCloseable {
        private final Process process;
        private final BufferedReader output;

        Theirs(String user, Path socket) throws Exception {
            String file = FirstBytes.class.getName().replace('.', '/') + ".class";
            Path copy = root.resolve("classes").resolve(file);
            Files.createDirectories(Objects.requireNonNull(copy.getParent()));
            Resources.asByteSource(Resources.getResource(file)).copyTo(MoreFiles.asByteSink(copy));
            process = new ProcessBuilder(
                            "setpriv",
                            "--reuid=" + user,
                            "--regid=" + user,
                            "--clear-groups",
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "-XX:+UseSerialGC",
                            "-XX:TieredStopAtLevel=1",
                            "-cp",
                            root.resolve("classes").toString(),
                            FirstBytes.class.getName(),
                            socket.toString())
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            output = process.inputReader();
            assertEquals("listening", line());
        }

        String line() throws IOException {
            return output.readLine();
        }

        @Override
        public void close() {
            process.destroyForcibly();
        }
    }

    private static UserPrincipal user(String number) throws IOException {
        return FileSystems.getDefault().getUserPrincipalLookupService().lookupPrincipalByName(number);
    }

    private static String name(String number) throws IOException {
        Path file = Files.createTempFile("homeostat", "owner");
        try {
            give(file, number);
            return Files.getOwner(file).getName();
        } finally {
            Files.delete(file);
        }
    }

    private static void give(Path path, String user) throws IOException {
        Files.setAttribute(path, "unix:uid", Integer.valueOf(user), LinkOption.NOFOLLOW_LINKS);
    }

    private static void chmod(Path path, String rights) throws IOException {
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(rights));
    }
}
