package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableList;
import com.google.protobuf.ByteString;
import io.homeostat.controlplane.EtcdCluster;
import io.homeostat.desired.etcd.EtcdKeyValues;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValues.Write;
import io.homeostat.desired.etcd.KeyValuesException;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.fleet.Rollout;
import io.homeostat.desired.fleet.RolloutState;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.desired.yaml.Choice;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.reconcile.SharedEtcd;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/** A fleet of a story's own in the etcd that all tests share: its {@code agent.yaml}, and what others write there. */
final class StoryFleet implements AutoCloseable {
    private static final Instant NOON = Instant.parse("2026-11-01T12:00:00Z");
    private static final RecordCodec CODEC = new RecordCodec(new ObjectMapper());

    private final Path directory;
    private final FleetKeys keys = new FleetKeys(SharedEtcd.newPrefix());
    private final KeyValues store;

    private StoryFleet(Path directory) {
        this.directory = directory;
        this.store = new EtcdKeyValues(SharedEtcd.below(keys.prefix()));
    }

    /** Configures {@code agent.yaml} in a directory. */
    static StoryFleet start(Path directory) throws IOException {
        assumeTrue(EtcdCluster.isInstalled(), "needs etcd");
        StoryFleet fleet = new StoryFleet(directory);
        Files.writeString(
                directory.resolve("agent.yaml"), "sources: {" + SharedEtcd.source(fleet.keys.prefix()) + "}\n");
        return fleet;
    }

    String prefix() {
        return keys.prefix();
    }

    @Override
    public void close() {
        store.close();
    }

    /** Does what a line of a story says. */
    void prepare(String... words) throws IOException, InterruptedException {
        try {
            switch (words[0]) {
                case "put" -> putFile(words[1], directory.resolve(words[2]));
                case "remove" -> commit(new Write.Delete(keys.prefix() + "/" + words[1]));
                case "stored" -> assertEquals(List.of(words).subList(1, words.length), stored());
                case "stands" ->
                    stands(
                            RolloutState.Phase.valueOf(words[1]),
                            words[2],
                            Long.parseLong(words[3]),
                            String.join(" ", Arrays.asList(words).subList(4, words.length)));
                default -> fail("unknown preparation");
            }
        } catch (KeyValuesException e) {
            throw new IllegalStateException(e);
        }
    }

    private void putFile(String key, Path file) throws IOException, KeyValuesException, InterruptedException {
        if (!Files.isDirectory(file)) {
            put(key, Files.readString(file).strip());
            return;
        }
        try (Stream<Path> each = Files.list(file)) {
            for (Path inside : each.toList()) {
                putFile(key + "/" + inside.getFileName(), inside);
            }
        }
    }

    void put(String key, String value) throws KeyValuesException, InterruptedException {
        commit(new Write.Put(keys.prefix() + "/" + key, ByteString.copyFromUtf8(value), KeyValues.NO_LEASE));
    }

    private void commit(Write write) throws KeyValuesException, InterruptedException {
        store.commit(ImmutableList.of(), ImmutableList.of(write)).orElseThrow();
    }

    /** All keys, without the prefix. */
    List<String> stored() throws KeyValuesException, InterruptedException {
        return store.list(keys.prefix() + "/").entries().keySet().stream()
                .map(key -> key.substring(keys.prefix().length() + 1))
                .toList();
    }

    /**
     * Writes, as a controller would, how the rollout stands that is published.
     *
     * @param through the last place in the order that may have the new revision; {@link Rollout#EVERYBODY} when the fourth wave is open
     * @param asOf machines that came after this revision of the store wait for the next wave
     */
    private void stands(RolloutState.Phase phase, String through, long asOf, String reason)
            throws KeyValuesException, InterruptedException {
        String set = Objects.requireNonNull(store.list(keys.set()).entries().get(keys.set()))
                .value()
                .toStringUtf8();
        Choice.ReadRollout read = DocumentReader.parse(
                        DocumentReader.collect(List.of(new DocumentReader.Input.Text("set", "set", null, set))),
                        Choice.ALL)
                .rollouts()
                .getFirst();
        RolloutState state = new RolloutState(
                Rollout.of(read.name(), read.spec()).digest(),
                phase,
                through.equals(Rollout.EVERYBODY) ? 3 : 0,
                through,
                asOf,
                1,
                Instant.now(),
                NOON,
                null,
                0,
                0,
                reason);
        put("rollouts/" + read.name(), CODEC.write(state));
    }
}
