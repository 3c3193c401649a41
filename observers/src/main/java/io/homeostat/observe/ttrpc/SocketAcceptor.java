package io.homeostat.observe.ttrpc;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Path;

/** Listens at a unix socket. Who may connect is a matter of its directory. */
public final class SocketAcceptor implements TtrpcServer.Acceptor {
    private final ServerSocketChannel server;

    /** Binds the socket, which must not be there; closing leaves it behind. */
    public SocketAcceptor(Path socket) throws IOException {
        server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        server.bind(UnixDomainSocketAddress.of(socket));
    }

    @Override
    public Wire accept() throws IOException {
        return new SocketWire(server.accept());
    }

    @Override
    public void close() throws IOException {
        server.close();
    }
}
