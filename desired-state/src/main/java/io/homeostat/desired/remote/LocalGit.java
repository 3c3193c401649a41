package io.homeostat.desired.remote;

import com.google.common.collect.ImmutableSet;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.util.Set;
import org.eclipse.jgit.errors.NotSupportedException;
import org.eclipse.jgit.errors.TransportException;
import org.eclipse.jgit.lib.Repository;
import org.eclipse.jgit.lib.RepositoryBuilder;
import org.eclipse.jgit.lib.RepositoryCache.FileKey;
import org.eclipse.jgit.transport.BasePackFetchConnection;
import org.eclipse.jgit.transport.FetchConnection;
import org.eclipse.jgit.transport.PackTransport;
import org.eclipse.jgit.transport.PushConnection;
import org.eclipse.jgit.transport.Transport;
import org.eclipse.jgit.transport.TransportProtocol;
import org.eclipse.jgit.transport.URIish;
import org.eclipse.jgit.transport.UploadPack;
import org.eclipse.jgit.util.FS;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Fetches from a repository in a directory of this machine. The transport that JGit has for that prints the stack of whatever goes wrong,
 * a damaged object for one, to standard error.
 */
final class LocalGit extends Transport implements PackTransport {
    private static final Logger LOG = LoggerFactory.getLogger(LocalGit.class);

    /** Kept, because JGit refers to it weakly. */
    private static final Protocol PROTOCOL = new Protocol();

    private final File directory;

    private LocalGit(Repository local, URIish uri, File directory) {
        super(local, uri);
        this.directory = directory;
    }

    /** One that fetches into no repository, but lists branches and tags. */
    private LocalGit(URIish uri, File directory) {
        super(uri);
        this.directory = directory;
    }

    /** Takes the place of JGit's transport in the whole process. */
    static void use() {
        Transport.register(PROTOCOL);
    }

    @Override
    public FetchConnection openFetch() throws TransportException {
        try {
            return new Connection(
                    this, new RepositoryBuilder().setGitDir(directory).build());
        } catch (IOException e) {
            throw e instanceof TransportException known ? known : new TransportException(uri, "it can't be opened", e);
        }
    }

    /** Pushes as JGit does. */
    @Override
    public PushConnection openPush() throws NotSupportedException, TransportException {
        for (TransportProtocol other : Transport.getTransportProtocols()) {
            if (other != PROTOCOL && other.canHandle(uri, local, "")) {
                return other.open(uri, local, "").openPush();
            }
        }
        throw new NotSupportedException("nothing can be pushed to " + directory);
    }

    @Override
    public void close() {
        // Each connection is closed by itself.
    }

    private static final class Protocol extends TransportProtocol {
        @Override
        public String getName() {
            return "local repositories of Homeostat";
        }

        @Override
        public Set<String> getSchemes() {
            return ImmutableSet.of("file");
        }

        @Override
        public boolean canHandle(URIish uri, @Nullable Repository local, @Nullable String remoteName) {
            return directory(uri) != null;
        }

        @Override
        public Transport open(URIish uri, Repository local, @Nullable String remoteName) throws NotSupportedException {
            return new LocalGit(local, uri, required(uri));
        }

        @Override
        public Transport open(URIish uri) throws NotSupportedException {
            return new LocalGit(uri, required(uri));
        }

        private static File required(URIish uri) throws NotSupportedException {
            File directory = directory(uri);
            if (directory == null) {
                throw new NotSupportedException(uri + " is not a repository");
            }
            return directory;
        }

        /** The repository that a URL names; null when it is on another machine, or is none. */
        private static @Nullable File directory(URIish uri) {
            boolean isHere = !uri.isRemote()
                    && (uri.getScheme() == null || uri.getScheme().equals("file"));
            return isHere && uri.getPath() != null ? FileKey.resolve(new File(uri.getPath()), FS.DETECTED) : null;
        }
    }

    /** A server on a thread of its own, and two pipes. */
    private static final class Connection extends BasePackFetchConnection {
        private final Thread server;

        Connection(LocalGit transport, Repository repository) throws IOException {
            super(transport);
            PipedInputStream requests = new PipedInputStream(MIN_CLIENT_BUFFER);
            PipedInputStream answers = new PipedInputStream();
            OutputStream ask = new PipedOutputStream(requests);
            OutputStream answer = new PipedOutputStream(answers);
            server = Thread.ofVirtual().name("git-upload-pack").start(() -> serve(repository, requests, answer));
            init(answers, ask);
            readAdvertisedRefs();
        }

        private static void serve(Repository repository, InputStream requests, OutputStream answer) {
            try (repository;
                    requests;
                    answer) {
                new UploadPack(repository).upload(requests, answer, null);
            } catch (IOException | RuntimeException e) {
                // The client hears of it through the pipe.
                LOG.debug("serving {} broke off", repository, e);
            }
        }

        @Override
        public void close() {
            super.close();
            try {
                server.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
