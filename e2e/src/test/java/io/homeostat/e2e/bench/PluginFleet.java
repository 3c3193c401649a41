package io.homeostat.e2e.bench;

import io.homeostat.controlplane.Bodies;
import io.homeostat.controlplane.FakeControlPlane;
import io.homeostat.controlplane.Transcript;
import io.homeostat.controlplane.Transcript.Entry;
import io.homeostat.e2e.measure.ProcFs;
import io.homeostat.e2e.measure.Stamps;
import io.homeostat.e2e.measure.Workplace;
import io.homeostat.proto.acp.ConfigurePluginStates.Action;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import io.homeostat.proto.acp.ConfigurePluginStates.Manifest;
import io.homeostat.proto.acp.ConfigurePluginStates.Plugin;
import io.homeostat.proto.acp.PluginEventMessage;
import io.homeostat.proto.acp.PluginEventMessage.PluginEventType;
import io.homeostat.proto.acs.StreamAgentMessagesRequest;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** An agent under a control plane, and its plugins. All times are on the clock of {@link System#nanoTime}. */
final class PluginFleet implements AutoCloseable {
    static final Duration PATIENCE = Duration.ofSeconds(120);
    private static final int STOP_TIMEOUT_SECONDS = 5;

    private final Bench bench;
    private final PluginAgent agent;
    private final Workplace place;
    private final PluginArchive archive;
    private final FakeControlPlane plane;
    private final long planeBegan;
    private Process process;

    /** Starts an agent and waits until it has registered. */
    PluginFleet(Bench bench, PluginAgent agent, Workplace place) throws IOException, InterruptedException {
        this.bench = bench;
        this.agent = agent;
        this.place = place;
        archive = PluginArchive.create(place);
        Path socket = place.path("acs.sock");
        plane = FakeControlPlane.onUnixSocket(socket);
        planeBegan = System.nanoTime() - plane.transcript().now().toNanos();
        process = agent.start(bench, place, plane.endpoint());
        long _ = awaitRegistration(1);
    }

    long pid() {
        return process.pid();
    }

    Stamps stamps(String plugin) {
        return new Stamps(place.path("stamps." + plugin));
    }

    /** Sends it off; returns when. */
    long install(String plugin) {
        PluginArchive.Version version = archive.next();
        return send(ConfigurePlugin.newBuilder()
                .setAction(Action.INSTALL)
                .setPlugin(Plugin.newBuilder()
                        .setName(plugin)
                        .setRevisionId("1")
                        .setGcsSignedUrl(version.url())
                        .setChecksum(version.sha256())
                        .setEntryPoint("bin/plugin")
                        .addArguments(stamps(plugin).argument()))
                .setManifest(Manifest.newBuilder()
                        .setStopTimeout(
                                com.google.protobuf.Duration.newBuilder().setSeconds(STOP_TIMEOUT_SECONDS)))
                .build());
    }

    /** The same for the end of a plugin. */
    long remove(String plugin) {
        return send(ConfigurePlugin.newBuilder()
                .setAction(Action.REMOVE)
                .setPlugin(Plugin.newBuilder().setName(plugin).setRevisionId("1"))
                .build());
    }

    private long send(ConfigurePlugin item) {
        long now = System.nanoTime();
        String _ = plane.send(Bodies.configure(item)).id();
        return now;
    }

    /** Waits until so many events of a type were told of a plugin; returns when the last of them was heard. */
    long awaitEvent(String plugin, PluginEventType type, int count) throws InterruptedException {
        return plane.transcript()
                .await(
                        count + " x " + type + " of " + plugin,
                        PATIENCE,
                        transcript -> heard(transcript, plugin, type, count));
    }

    private Optional<Long> heard(Transcript transcript, String plugin, PluginEventType type, int count) {
        return transcript.entries(Entry.Heard.class).stream()
                .filter(heard -> isEvent(heard.message(), plugin, type))
                .skip(count - 1)
                .findFirst()
                .map(heard -> planeBegan + heard.at().toNanos());
    }

    private static boolean isEvent(StreamAgentMessagesRequest message, String plugin, PluginEventType type) {
        if (!message.hasMessageBody() || !Bodies.type(message.getMessageBody()).equals("PluginEventMessage")) {
            return false;
        }
        PluginEventMessage event = Bodies.read(message.getMessageBody(), PluginEventMessage.parser());
        return event.getPluginName().equals(plugin) && event.getEventType() == type;
    }

    private long awaitRegistration(int count) throws InterruptedException {
        return plane.transcript()
                .await(
                        count + " registrations",
                        PATIENCE,
                        transcript -> transcript.entries(Entry.Registered.class).stream()
                                .skip(count - 1)
                                .findFirst()
                                .map(registered -> planeBegan + registered.at().toNanos()));
    }

    /** Has the agent end and another one begin; returns how long that one took until it had registered. */
    long restartAgentNanos() throws IOException, InterruptedException {
        int before = plane.transcript().entries(Entry.Registered.class).size();
        PluginAgent.end(process);
        long started = System.nanoTime();
        process = agent.start(bench, place, plane.endpoint());
        return awaitRegistration(before + 1) - started;
    }

    /** Throws unless the plugins have the processes that they had. */
    void requireAlive(List<Long> pids) throws IOException {
        for (long pid : pids) {
            if (!ProcFs.isAlive(pid)) {
                throw new IOException("plugin process " + pid + " has not outlived its agent");
            }
        }
    }

    @Override
    public void close() throws InterruptedException {
        place.killAll();
        plane.close();
        archive.close();
    }
}
