package io.homeostat.observe.ttrpc;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ByteChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Path;

/** Listens on a socket in a directory of the test. */
final class UnixAcceptor implements TtrpcServer.Acceptor {
    private final ServerSocketChannel server;

    UnixAcceptor(Path socket) throws IOException {
        server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        server.bind(UnixDomainSocketAddress.of(socket));
    }

    @Override
    public ByteChannel accept() throws IOException {
        return server.accept();
    }

    @Override
    public void close() throws IOException {
        server.close();
    }
}
