package io.homeostat.desired.remote;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.remote.SetFetcher.Fetched;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.eclipse.jgit.api.Git;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Fetchers of one agent, and servers that answer with much, with little or not at all. */
@Timeout(120)
final class LargeSetLockTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int LARGE = 2 << 20;

    private final LargeSetLock large = new LargeSetLock();
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final CountDownLatch asked = new CountDownLatch(1);
    private final CountDownLatch end = new CountDownLatch(1);
    private HttpServer server;

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/large", content(LARGE));
        server.createContext("/small", content(LargeSetLock.SMALL));
        server.createContext("/broken", exchange -> {
            exchange.sendResponseHeaders(200, LARGE + 1);
            exchange.getResponseBody().write(new byte[LARGE]);
            exchange.getResponseBody().flush();
            throw new IOException("broken off");
        });
        server.createContext("/silent", exchange -> {
            asked.countDown();
            awaitEnd();
        });
        server.createContext("/stuck", exchange -> {
            exchange.sendResponseHeaders(200, LARGE);
            exchange.getResponseBody().write(new byte[LARGE - 1]);
            exchange.getResponseBody().flush();
            awaitEnd();
            exchange.getResponseBody().write(1);
            exchange.close();
        });
        server.start();
    }

    @AfterEach
    void stop() {
        end.countDown();
        server.stop(0);
        threads.shutdownNow();
    }

    private static HttpHandler content(int length) {
        return exchange -> {
            exchange.sendResponseHeaders(200, length);
            exchange.getResponseBody().write(new byte[length]);
            exchange.close();
        };
    }

    private void awaitEnd() {
        try {
            end.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void twoLargeAnswersAreNotReadAtTheSameTime() throws Exception {
        holdALargeSet();
        Future<Integer> second = fetch("/large");
        await().atMost(PATIENCE).until(large::isAwaited);
        assertEquals(LargeSetLock.SMALL, length(fetch("/small")));
        assertFalse(second.isDone());

        end.countDown();
        assertEquals(LARGE, length(second));
    }

    @Test
    void aServerThatSendsLittleOrNothingHoldsUpNobody() throws Exception {
        Future<Integer> silent = fetch("/silent");
        asked.await();

        assertEquals(LARGE, length(fetch("/large")));
        assertFalse(silent.isDone());
    }

    @Test
    void theLockIsReleasedAfterAFailure() throws Exception {
        ExecutionException broken = assertThrows(ExecutionException.class, () -> length(fetch("/broken")));
        assertTrue(broken.getCause() instanceof FetchFailure, broken::toString);

        assertEquals(LARGE, length(fetch("/large")));
    }

    @Test
    void fetchesThatAreInterruptedWhileTheyReadOrWaitHoldUpNobody() throws Exception {
        Future<Integer> one = fetch("/stuck");
        Future<Integer> other = fetch("/stuck");
        await().atMost(PATIENCE).until(large::isAwaited);
        assertEquals(LargeSetLock.SMALL, length(fetch("/small")));

        assertTrue(one.cancel(true));
        assertTrue(other.cancel(true));
        assertEquals(LARGE, length(fetch("/large")));
    }

    private static void commit(Git git, String file, String content) throws Exception {
        Files.writeString(git.getRepository().getWorkTree().toPath().resolve(file), content);
        git.add().addFilepattern(".").call();
        git.commit().setMessage(file).setSign(false).call();
    }

    @Test
    void aLargeRepositoryIsFetchedWhenNothingLargeIsRead(@TempDir Path directory) throws Exception {
        Path repository = directory.resolve("repository");
        try (Git git = Git.init()
                .setDirectory(repository.toFile())
                .setInitialBranch("main")
                .call()) {
            commit(git, "web.yaml", "kind: Process\n");
        }
        GitFetcher fetcher = new GitFetcher(
                new AgentConfig.Git(
                        repository.toUri().toString(),
                        "main",
                        null,
                        "",
                        null,
                        null,
                        ImmutableList.of(),
                        Duration.ofMinutes(1)),
                directory.resolve("work"),
                large);
        holdALargeSet();

        assertInstanceOf(Fetched.Tree.class, fetcher.fetch(Optional.empty()));
        try (Git git = Git.open(repository.toFile())) {
            // Short while it is packed.
            commit(git, "more.yaml", "#".repeat(LARGE));
        }
        Future<Fetched> fetched = threads.submit(() -> {
            try {
                return fetcher.fetch(Optional.empty());
            } finally {
                large.release();
            }
        });
        await().atMost(PATIENCE).until(large::isAwaited);
        assertFalse(fetched.isDone());

        end.countDown();
        assertTrue(fetched.get(1, TimeUnit.MINUTES) instanceof Fetched.Tree);
    }

    /** Has a large set in memory until the end. */
    private void holdALargeSet() throws InterruptedException {
        CountDownLatch holding = new CountDownLatch(1);
        Future<?> _ = threads.submit(() -> {
            try {
                fetcher("/large").fetch(Optional.empty());
                holding.countDown();
                awaitEnd();
            } finally {
                large.release();
            }
            return null;
        });
        assertTrue(holding.await(1, TimeUnit.MINUTES));
    }

    private Future<Integer> fetch(String path) {
        return threads.submit(() -> {
            try {
                Fetched fetched = fetcher(path).fetch(Optional.empty());
                return ((Fetched.File) fetched).content().size();
            } finally {
                large.release();
            }
        });
    }

    private HttpsFetcher fetcher(String path) {
        URI url = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + path);
        return new HttpsFetcher(url, null, null, "sources.https", large);
    }

    private static int length(Future<Integer> fetched) throws Exception {
        return fetched.get(1, TimeUnit.MINUTES);
    }
}
