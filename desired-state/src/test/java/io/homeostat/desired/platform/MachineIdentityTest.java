package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

class MachineIdentityTest {
    private static final String M = "0123456789abcdef0123456789abcdef";
    private static final String N = "fedcba9876543210fedcba9876543210";
    private static final MachineIdentity BY_METADATA = new MachineIdentity("101", M, "101", "boot1");
    private static final MachineIdentity BY_MACHINE = new MachineIdentity(M, M, "", "boot1");

    private final List<Duration> patience = new ArrayList<>();

    /** @param metadata what the metadata server says; null when nobody answers */
    private record Row(
            String situation,
            @Nullable MachineIdentity last,
            @Nullable String configured,
            String machine,
            String boot,
            @Nullable String metadata,
            MachineIdentity expected) {}

    private static final List<Row> ROWS = List.of(
            new Row(
                    "first: the metadata server's word",
                    null,
                    null,
                    M,
                    "b",
                    "101",
                    new MachineIdentity("101", M, "101", "b")),
            new Row(
                    "first, nobody answers: the machine's id",
                    null,
                    null,
                    M,
                    "b",
                    null,
                    new MachineIdentity(M, M, "", "b")),
            new Row("first, no id at all", null, null, "", "b", null, new MachineIdentity("local", "", "", "b")),
            new Row("first: a chosen id", null, "web-1", M, "b", "101", new MachineIdentity("web-1", M, "", "b")),
            new Row(
                    "no name of a directory is no id",
                    null,
                    null,
                    M,
                    "b",
                    "../../etc",
                    new MachineIdentity(M, M, "", "b")),
            new Row("a reboot", BY_METADATA, null, M, "boot2", "101", new MachineIdentity("101", M, "101", "boot2")),
            new Row(
                    "a reboot, nobody answers: the last known id stays",
                    BY_METADATA,
                    null,
                    M,
                    "boot2",
                    null,
                    new MachineIdentity("101", M, "101", "boot2")),
            new Row(
                    "the machine's id was made anew, the metadata server knows the instance",
                    BY_METADATA,
                    null,
                    N,
                    "boot2",
                    "101",
                    new MachineIdentity("101", N, "101", "boot2")),
            new Row("a clone", BY_METADATA, null, M, "boot2", "202", new MachineIdentity("202", M, "202", "boot2")),
            new Row(
                    "a clone with a machine id of its own that nobody answers",
                    BY_METADATA,
                    null,
                    N,
                    "boot2",
                    null,
                    new MachineIdentity(N, N, "", "boot2")),
            new Row(
                    "a clone that learns it within a boot",
                    BY_METADATA,
                    null,
                    M,
                    "boot1",
                    "202",
                    new MachineIdentity("202", M, "202", "boot1")),
            new Row(
                    "within a boot nobody answers: the same, whatever became of the machine's id",
                    BY_METADATA,
                    null,
                    N,
                    "boot1",
                    null,
                    new MachineIdentity("101", N, "101", "boot1")),
            new Row(
                    "within a boot the machine's id becomes another, and nobody ever answered",
                    BY_MACHINE,
                    null,
                    N,
                    "boot1",
                    null,
                    new MachineIdentity(N, N, "", "boot1")),
            new Row(
                    "the metadata server is heard for the first time: the same instance, known better",
                    BY_MACHINE,
                    null,
                    M,
                    "boot1",
                    "101",
                    new MachineIdentity(M, M, "101", "boot1")),
            new Row(
                    "a clone of what never heard of a metadata server",
                    BY_MACHINE,
                    null,
                    N,
                    "boot2",
                    "202",
                    new MachineIdentity("202", N, "202", "boot2")),
            new Row(
                    "an image that was baked with the machine's id in it can't be told from its source",
                    BY_MACHINE,
                    null,
                    M,
                    "boot2",
                    "202",
                    new MachineIdentity(M, M, "202", "boot2")),
            new Row("a clone elsewhere", BY_MACHINE, null, N, "boot2", null, new MachineIdentity(N, N, "", "boot2")),
            new Row(
                    "a lost machine id is none",
                    BY_MACHINE,
                    null,
                    "",
                    "boot2",
                    null,
                    new MachineIdentity(M, M, "", "boot2")),
            new Row(
                    "another id is chosen",
                    BY_MACHINE,
                    "web-1",
                    M,
                    "boot2",
                    null,
                    new MachineIdentity("web-1", M, "", "boot2")),
            new Row(
                    "another id is chosen within a boot",
                    BY_MACHINE,
                    "web-1",
                    M,
                    "boot1",
                    null,
                    new MachineIdentity("web-1", M, "", "boot1")));

    @TestFactory
    Stream<DynamicTest> whichInstanceThisIs() {
        return ROWS.stream()
                .map(row -> DynamicTest.dynamicTest(
                        row.situation(),
                        () -> assertEquals(
                                row.expected(),
                                MachineIdentity.determine(
                                        row.last(), row.configured(), row.machine(), row.boot(), false, asked -> {
                                            return Optional.ofNullable(row.metadata());
                                        }))));
    }

    @Test
    void stateThatAnOlderVersionLeftUnderTheMachinesIdStaysThere() throws InterruptedException {
        assertEquals(
                new MachineIdentity(M, M, "101", "b"),
                MachineIdentity.determine(null, null, M, "b", true, asked -> Optional.of("101")));
    }

    @Test
    void onlyWhoMayBeACloneWaitsForTheMetadataServer() throws InterruptedException {
        ask(null, null, "b");
        ask(BY_MACHINE, null, "boot2");
        assertEquals(List.of(Duration.ZERO, Duration.ZERO), patience);
        patience.clear();

        ask(BY_METADATA, null, "boot2");
        assertEquals(List.of(Duration.ofSeconds(10)), patience);
        patience.clear();

        ask(BY_METADATA, null, "boot1");
        assertEquals(List.of(Duration.ZERO), patience, "within a boot nobody waits again");
    }

    @Test
    void theMetadataServerIsNotAskedForAChosenId() throws InterruptedException {
        ask(BY_METADATA, "web-1", "boot2");
        ask(null, "web-1", "boot2");

        assertEquals(List.of(), patience);
    }

    private void ask(@Nullable MachineIdentity last, @Nullable String configured, String boot)
            throws InterruptedException {
        MachineIdentity ignored = MachineIdentity.determine(last, configured, M, boot, false, asked -> {
            patience.add(asked);
            return Optional.empty();
        });
    }
}
