package io.homeostat.guest;

import io.grpc.ServerInterceptors;
import io.homeostat.observe.ttrpc.SocketAcceptor;
import io.homeostat.observe.ttrpc.TtrpcServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ScheduledThreadPoolExecutor;

/**
 * A guest whose agent listens at a socket. Containers are processes of this machine without any isolation; all else is as a real agent of
 * version 4.1.0 behaves, its traps included. For trusted programs of tests only.
 */
public final class FakeGuest implements AutoCloseable {
    private final Path socket;
    private final Path files;
    private final Faults faults = new Faults();
    private final CallLog calls = new CallLog();
    private final ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(1);

    private volatile boolean bootsAgain;
    private volatile Duration endsAfter = Duration.ZERO;
    private FakeAgent agent;
    private TtrpcServer server;

    /**
     * Boots it.
     *
     * @param socket where its agent is to listen
     * @param files a directory for what is copied into it
     */
    public FakeGuest(Path socket, Path files) throws IOException {
        this.socket = socket;
        this.files = files;
        timer.setRemoveOnCancelPolicy(true);
        agent = new FakeAgent(files);
        server = serve(agent);
    }

    private TtrpcServer serve(FakeAgent served) throws IOException {
        Files.deleteIfExists(socket);
        TtrpcServer result = new TtrpcServer(
                new SocketAcceptor(socket),
                timer,
                List.of(
                        ServerInterceptors.intercept(served.bindService(), faults, calls),
                        ServerInterceptors.intercept(new FakeHealth().bindService(), faults, calls)));
        served.onDestroyed(() -> destroyed(result));
        result.start();
        return result;
    }

    private void destroyed(TtrpcServer served) {
        try {
            Thread.sleep(endsAfter);
            served.close();
            if (bootsAgain) {
                reboot();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** An agent whose sandbox was destroyed answers for that long before it ends. */
    public void endAfter(Duration time) {
        endsAfter = time;
    }

    /** Whoever runs the machine starts it again when it ends. */
    public void bootAgain() {
        bootsAgain = true;
    }

    /** What goes wrong. */
    public Faults faults() {
        return faults;
    }

    /** What it was asked. */
    public CallLog calls() {
        return calls;
    }

    /** What has become of it. */
    public FakeAgent agent() {
        return agent;
    }

    /** The agent is killed and started again. It knows nothing of what runs on. */
    public void restartAgent() throws IOException {
        server.close();
        agent.forget();
        server = serve(agent);
    }

    /** Nobody listens for a while, as when an agent that forgets nothing is started again. */
    public void stopListening() throws IOException {
        server.close();
        Files.deleteIfExists(socket);
    }

    /** After {@link #stopListening}. */
    public void listen() throws IOException {
        server = serve(agent);
    }

    /** Nothing is left of what ran in it. */
    public void reboot() throws IOException {
        server.close();
        agent.end();
        agent = new FakeAgent(files);
        calls.booted();
        server = serve(agent);
    }

    /** Nobody listens any more. */
    public void shutDown() throws IOException {
        stopListening();
        agent.end();
    }

    /** Has something done once somebody has ended the sandbox, and its agent with it. */
    public void onDestroyed(Runnable action) {
        TtrpcServer served = server;
        agent.onDestroyed(() -> {
            served.close();
            action.run();
        });
    }

    @Override
    public void close() {
        faults.clear();
        server.close();
        agent.end();
        timer.shutdownNow();
    }
}
