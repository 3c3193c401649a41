package io.homeostat.observe.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.observe.ttrpc.Wire;
import java.io.IOException;
import java.net.BindException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class UnixAcceptorTest {
    @TempDir
    Path root;

    private Path socket() {
        return root.resolve("agent.sock");
    }

    @Test
    void itsSocketIsForItsOwnerAloneAndGoneWithIt() throws IOException {
        try (UnixAcceptor acceptor = new UnixAcceptor(socket())) {
            assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(socket())));
            try (SocketChannel client = SocketChannel.open(UnixDomainSocketAddress.of(socket()));
                    Wire accepted = acceptor.accept()) {
                assertEquals(2, accepted.write(ByteBuffer.allocateDirect(2)));
                assertEquals(2, client.read(ByteBuffer.allocate(3)));
            }
        }
        try (Stream<Path> left = Files.list(root)) {
            assertEquals(0, left.count());
        }
    }

    @Test
    void itTakesThePlaceOfASocketThatNobodyListensAt() throws IOException {
        try (ServerSocketChannel former = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            former.bind(UnixDomainSocketAddress.of(socket()));
        }
        assertTrue(Files.exists(socket()));

        try (UnixAcceptor acceptor = new UnixAcceptor(socket());
                SocketChannel client = SocketChannel.open(UnixDomainSocketAddress.of(socket()))) {
            assertTrue(client.isConnected());
            acceptor.accept().close();
        }
    }

    @Test
    void itTakesNobodysPlaceAndNoFiles() throws IOException {
        try (UnixAcceptor _ = new UnixAcceptor(socket())) {
            assertEquals(
                    "somebody listens at " + socket() + " already",
                    assertThrows(BindException.class, () -> new UnixAcceptor(socket()))
                            .getMessage());
        }
        Files.writeString(socket(), "precious");
        assertThrows(BindException.class, () -> new UnixAcceptor(socket()));
        assertEquals("precious", Files.readString(socket()));
        assertFalse(Files.exists(root.resolve(".s")));
    }
}
