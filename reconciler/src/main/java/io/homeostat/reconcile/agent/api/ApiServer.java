package io.homeostat.reconcile.agent.api;

import com.google.common.collect.ImmutableSet;
import io.grpc.Server;
import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves the local API on a unix socket, for root and the user it runs as, see agent.proto. A caller who is slow, gone, wrong or
 * many costs bounded memory and delays nobody else.
 */
public final class ApiServer implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(ApiServer.class);
    private static final int CONNECTIONS = 256;
    private static final int CALLS = 64;

    private final Path socket;
    private final Server server;
    private final ApiService service;
    private final LocalTransport transport;

    private ApiServer(Path socket, Server server, ApiService service, LocalTransport transport) {
        this.socket = socket;
        this.server = server;
        this.service = service;
        this.transport = transport;
    }

    /**
     * Listens from now on, until it is closed. A socket that a dead process left behind is replaced.
     *
     * @param socket its directory exists, and nobody else can write to it
     * @throws ApiException when somebody listens there already, or it is not possible
     */
    public static ApiServer start(Path socket, ApiHandler handler) {
        ImmutableSet<UserPrincipal> users = rootAndThisUser();
        return start(socket, handler, users::contains);
    }

    static ApiServer start(Path socket, ApiHandler handler, Predicate<UserPrincipal> allowed) {
        SocketFile file = new SocketFile(socket);
        file.checkLength();
        file.makeRoom();
        LocalTransport transport = new LocalTransport();
        ApiService service = new ApiService(handler, CALLS);
        try {
            Server server = transport
                    .server(socket, new PeerGuard(allowed, CONNECTIONS), service)
                    .start();
            Files.setPosixFilePermissions(socket, PosixFilePermissions.fromString("rw-------"));
            return new ApiServer(socket, server, service, transport);
        } catch (IOException e) {
            service.close();
            transport.close();
            Throwable cause = e.getCause() == null ? e : e.getCause();
            throw new ApiException(
                    ApiException.Kind.NOT_SERVED, "cannot listen on " + socket + ": " + cause.getMessage(), e);
        }
    }

    /** By number: whom the kernel names is compared by number, too. */
    private static ImmutableSet<UserPrincipal> rootAndThisUser() {
        try {
            return ImmutableSet.of(
                    FileSystems.getDefault().getUserPrincipalLookupService().lookupPrincipalByName("0"),
                    Files.getOwner(Path.of("/proc/self")));
        } catch (IOException e) {
            throw new ApiException(
                    ApiException.Kind.NOT_SERVED, "cannot find out which user this is: " + e.getMessage(), e);
        }
    }

    /** Ends what is being answered, and removes the socket. */
    @Override
    public void close() {
        try {
            Files.deleteIfExists(socket);
        } catch (IOException e) {
            log.warn("the socket {} could not be removed; the next agent replaces it: {}", socket, e.getMessage());
        }
        server.shutdown();
        service.close();
        try {
            // So that whoever asked hears why it ended, and not just that the connection did.
            if (!server.awaitTermination(1, TimeUnit.SECONDS)) {
                server.shutdownNow();
                server.awaitTermination(1, TimeUnit.SECONDS);
            }
        } catch (InterruptedException e) {
            server.shutdownNow();
            Thread.currentThread().interrupt();
        }
        transport.close();
    }
}
