package io.homeostat.observe.guest;

import io.homeostat.observe.ttrpc.SocketWire;
import io.homeostat.observe.ttrpc.TtrpcServer;
import io.homeostat.observe.ttrpc.Wire;
import java.io.IOException;
import java.net.BindException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;

/** Listens at a unix socket that is for its owner alone. */
public final class UnixAcceptor implements TtrpcServer.Acceptor {
    private final Path socket;
    private final ServerSocketChannel server;

    /**
     * Takes the place of a socket where nobody listens any more.
     *
     * @throws IOException also when somebody listens there
     */
    public UnixAcceptor(Path socket) throws IOException {
        this.socket = socket;
        if (Files.exists(socket, LinkOption.NOFOLLOW_LINKS)) {
            refuseIfUsed(socket);
        }
        server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        // A socket is open to others from bind(2) to chmod(2), so that happens where they can't come.
        Path closed = Files.createTempDirectory(
                socket.toAbsolutePath().getParent(),
                ".s",
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        try {
            Path bound = closed.resolve("s");
            server.bind(UnixDomainSocketAddress.of(bound));
            Files.setPosixFilePermissions(bound, PosixFilePermissions.fromString("rw-------"));
            Files.move(bound, socket, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            server.close();
            Files.deleteIfExists(closed.resolve("s"));
            throw e;
        } finally {
            Files.delete(closed);
        }
    }

    private static void refuseIfUsed(Path socket) throws IOException {
        if (Files.isRegularFile(socket, LinkOption.NOFOLLOW_LINKS) || Files.isDirectory(socket)) {
            throw new BindException(socket + " is there, and is no socket; remove it, or listen elsewhere");
        }
        boolean used;
        try (SocketChannel _ = SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
            used = true;
        } catch (IOException e) {
            used = false;
        }
        if (used) {
            throw new BindException("somebody listens at " + socket + " already");
        }
    }

    @Override
    public Wire accept() throws IOException {
        return new SocketWire(server.accept());
    }

    /** Whoever accepts stops. */
    @Override
    public void close() throws IOException {
        server.close();
        Files.deleteIfExists(socket);
    }
}
