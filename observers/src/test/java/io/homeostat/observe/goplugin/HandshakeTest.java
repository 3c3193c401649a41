package io.homeostat.observe.goplugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableSet;
import io.homeostat.observe.goplugin.Handshake.Network;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class HandshakeTest {
    private static final ImmutableSet<Integer> VERSIONS = ImmutableSet.of(2);

    @TempDir
    Path directory;

    private Path output;

    @BeforeEach
    void setUp() {
        output = directory.resolve("output");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "1|2|unix|/tmp/plugin1|grpc|",
                "1|2|unix|/tmp/plugin1|grpc",
                "1|2|unix|/tmp/plugin1|grpc|true",
                "1|2|unix|/tmp/plugin1|grpc||true|more",
                "1|2|unix|/tmp/plugin1|grpc|12345678901234567890123456789012345678901234567890",
                " 1 | 2 | unix | /tmp/plugin1 | grpc | "
            })
    void aHandshakeOverGrpcIsTaken(String line) throws Exception {
        assertEquals(new Handshake(2, Network.UNIX, "/tmp/plugin1"), Handshake.parse(line, VERSIONS));
    }

    @Test
    void theVersionMayBeAnyThatTheHostSpeaks() throws Exception {
        assertEquals(
                new Handshake(7, Network.TCP, "127.0.0.1:10000"),
                Handshake.parse("1|7|tcp|127.0.0.1:10000|grpc|", ImmutableSet.of(2, 7)));
    }

    @Test
    void anEmptyLineIsNoHandshake() {
        assertRefused("it has printed nothing where the handshake of go-plugin should be; correct spec.entryPoint", "");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"1|2|unix", "Usage: driver [OPTIONS]", "one|2|unix|/tmp/plugin1|grpc|", "|2|unix|/x|grpc|", "|"})
    void whatIsNoHandshakeIsQuoted(String line) {
        assertRefused(
                "it is not a plugin: it printed \"" + line
                        + "\" where the handshake of go-plugin should be; correct spec.entryPoint",
                line);
    }

    @Test
    void anotherVersionOfGoPluginIsRefused() {
        assertRefused(
                "its handshake is of version 2 of go-plugin, and only version 1 is known; install another release of it",
                "2|2|unix|/tmp/plugin1|grpc|");
    }

    @ParameterizedTest
    @ValueSource(strings = {"1", "3", "two", "", "99999999999"})
    void aVersionThatTheHostDoesNotSpeakIsRefused(String version) {
        assertRefused(
                "it speaks version \"" + version
                        + "\" of its protocol, and we speak [2]; install another release of it",
                "1|" + version + "|unix|/tmp/plugin1|grpc|");
    }

    @ParameterizedTest
    @ValueSource(strings = {"udp", "UNIX", ""})
    void aNetworkThatIsNotKnownIsRefused(String network) {
        assertRefused(
                "it listens on the network \"" + network
                        + "\", and only unix and tcp are known; install another release of it",
                "1|2|" + network + "|/tmp/plugin1|grpc|");
    }

    @ParameterizedTest
    @ValueSource(strings = {"1|2|unix|/tmp/plugin1|netrpc|", "1|2|unix|/tmp/plugin1"})
    void whatSpeaksNetRpcOrSaysNothingOfItIsRefused(String line) {
        assertRefused("it speaks net/rpc, and only gRPC is supported; install a release of it that serves gRPC", line);
    }

    @ParameterizedTest
    @ValueSource(strings = {"thrift", "GRPC", ""})
    void aProtocolThatIsNotKnownIsRefused(String protocol) {
        assertRefusal("it speaks \"" + protocol + "\", and only gRPC ", "1|2|unix|/tmp/plugin1|" + protocol + "|");
    }

    @Test
    void aCertificateIsRefusedSinceNobodyAskedForTls() {
        assertRefused(
                "it wants TLS, for which it was not asked; remove PLUGIN_CLIENT_CERT where it is set",
                "1|2|unix|/tmp/plugin1|grpc|" + "c".repeat(51));
    }

    @Test
    void anAddressThatIsMissingIsRefused() {
        assertRefused(
                "its handshake has no address: \"1|2|unix||grpc|\"; install another release of it", "1|2|unix||grpc|");
    }

    @ParameterizedTest
    @CsvSource({"plugin1, plugin1", "./plugin1, ./plugin1", "@abstract, @abstract", "/tmp/a\0b, /tmp/a?b"})
    void whatIsNoAbsolutePathOfASocketIsRefused(String address, String shown) {
        assertRefused(
                "it says that it listens at \"" + shown
                        + "\", which is no absolute path of a socket; install another release of it",
                "1|2|unix|" + address + "|grpc|");
    }

    @Test
    void controlCharactersAreNotShown() {
        assertRefusal("\"?[31mred?bell?\"", "\033[31mred\007bell\u009b");
    }

    @Test
    void ofALongLineTheBeginningIsShown() {
        assertRefusal("\"" + "\ud83d\ude00".repeat(80) + "...\"", "\ud83d\ude00".repeat(81));
    }

    @Test
    void nothingIsSaidBeforeThereIsAWholeLine() throws Exception {
        assertEquals(Optional.empty(), Handshake.line(output), "no file yet");
        Files.writeString(output, "");
        assertEquals(Optional.empty(), Handshake.line(output));
        Files.writeString(output, "1|2|unix|/tmp/plug");
        assertEquals(Optional.empty(), Handshake.line(output), "a part of a line could be a part of an address");
        Files.writeString(output, "1|2|unix|/tmp/plugin1|grpc|\r\nand more\n");
        assertEquals(Optional.of("1|2|unix|/tmp/plugin1|grpc|"), Handshake.line(output));
    }

    @Test
    void anEmptyFirstLineIsALine() throws Exception {
        Files.writeString(output, "\n1|2|unix|/tmp/plugin1|grpc|\n");
        assertEquals(Optional.of(""), Handshake.line(output));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "homeostat: 1: cannot create /sys/fs/cgroup/x/cgroup.procs: Permission denied",
                "homeostat: line 1: /sys/fs/cgroup/x/cgroup.procs: Permission denied",
                "nice: cannot set niceness: Permission denied",
                "/usr/bin/nice: cannot set niceness: Permission denied"
            })
    void whatThoseSaidThatLaunchedItIsNotItsHandshake(String warning) throws Exception {
        Files.writeString(output, warning + "\n");
        assertEquals(Optional.empty(), Handshake.line(output));
        Files.writeString(output, warning + "\n" + warning + "\n1|2|unix|/tmp/plugin1|grpc|\n");
        assertEquals(Optional.of("1|2|unix|/tmp/plugin1|grpc|"), Handshake.line(output));
    }

    @Test
    void whatIsLongerThanAnyHandshakeCountsAsALine() throws Exception {
        Files.writeString(output, "x".repeat(4095));
        assertEquals(Optional.empty(), Handshake.line(output));
        Files.writeString(output, "x".repeat(1_000_000));
        assertEquals(Optional.of("x".repeat(4096)), Handshake.line(output));
    }

    @Test
    void whatIsNotUtf8IsShownAsFarAsItIs() throws Exception {
        Files.write(output, "d\u00e9marrage\n".getBytes(StandardCharsets.ISO_8859_1));
        assertRefusal("\"d\ufffdmarrage\"", Handshake.line(output).orElseThrow());
    }

    @Test
    void aSymlinkIsNotFollowed() throws Exception {
        Path elsewhere = directory.resolve("elsewhere");
        Files.writeString(elsewhere, "1|2|unix|/tmp/plugin1|grpc|\n");
        Files.createSymbolicLink(output, elsewhere);
        assertUnreadable();
    }

    @Test
    void whatCanNotBeReadIsNotSaidToBeMissing() throws Exception {
        Files.createDirectory(output);
        assertUnreadable();
    }

    private void assertUnreadable() {
        String why = String.valueOf(
                assertThrows(IOException.class, () -> Handshake.line(output)).getMessage());
        assertTrue(why.startsWith(output + " can't be read: "), why);
    }

    @Test
    void aFifoInItsPlaceIsNotWaitedFor() throws Exception {
        assertEquals(0, new ProcessBuilder("mkfifo", output.toString()).start().waitFor());

        assertTimeoutPreemptively(
                Duration.ofSeconds(30), () -> assertThrows(IOException.class, () -> Handshake.line(output)));
    }

    private static void assertRefused(String words, String line) {
        assertEquals(words, refusal(line));
    }

    private static void assertRefusal(String part, String line) {
        assertTrue(refusal(line).contains(part), refusal(line));
    }

    private static String refusal(String line) {
        return assertThrows(Handshake.Refused.class, () -> Handshake.parse(line, VERSIONS))
                .words();
    }
}
