package io.homeostat.reconcile.command.diagnostics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.AgentConfig.Identity;
import io.homeostat.reconcile.command.diagnostics.Doctor.Finding;
import io.homeostat.reconcile.command.diagnostics.Doctor.Finding.Level;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ControlPlaneCheckTest {
    @TempDir
    private Path directory;

    @Test
    void aSocketThatIsThereIsWell() throws IOException {
        Path socket = directory.resolve("s");
        try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            server.bind(UnixDomainSocketAddress.of(socket));

            assertEquals(Level.OK, look("unix:" + socket, Identity.Known.NONE).level());
        }
    }

    @Test
    void aSocketThatIsMissingIsADoubtAndAFileInItsPlaceAFailure() throws IOException {
        Path file = directory.resolve("s");
        assertEquals(Level.WARN, look("unix:" + file, Identity.Known.NONE).level());

        Files.writeString(file, "no socket");

        assertEquals(Level.FAIL, look("unix:" + file, Identity.Known.NONE).level());
    }

    @Test
    void aTokenThatCanNotBeReadIsAFailureThatNamesTheFile() {
        Path token = directory.resolve("token");

        Finding finding = look("host:443", new Identity.TokenFile(token.toString()));

        assertEquals(Level.FAIL, finding.level());
        assertTrue(finding.message().contains(token.toString()), finding.message());
    }

    @Test
    void anEndpointOnTheNetworkIsNamed() {
        assertTrue(look("host:443", Identity.Known.METADATA).message().contains("host:443"));
    }

    private static Finding look(String endpoint, Identity identity) {
        return ControlPlaneCheck.look(new AgentConfig.ControlPlane(endpoint, "c", null, identity, null, false));
    }
}
