package io.homeostat.reconcile.agent.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.homeostat.proto.kata.AgentDetails;
import io.homeostat.proto.kata.CheckRequest;
import io.homeostat.proto.kata.GetMetricsRequest;
import io.homeostat.proto.kata.GuestDetailsRequest;
import io.homeostat.proto.kata.GuestDetailsResponse;
import io.homeostat.proto.kata.HealthCheckResponse;
import io.homeostat.proto.kata.SetGuestDateTimeRequest;
import io.homeostat.proto.kata.VersionCheckResponse;
import io.homeostat.reconcile.agent.frontend.FakeAgent;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Metrics and details of a guest, its clock, and the first start of its agent after a boot. */
class GuestMachineTest extends GuestTestBed {
    private static final String OTHER_BOOT = "6f1c5a1e-0000-4000-8000-000000000002";

    private GuestService service() throws IOException, InterruptedException {
        return new GuestService(guest.boot());
    }

    private static String metrics(GuestService service) {
        return Answer.of(service::getMetrics, GetMetricsRequest.getDefaultInstance())
                .getMetrics();
    }

    @Test
    void metricsAreThoseOfTheKernelWithTheNamesOfTheProtocol() throws IOException, InterruptedException {
        guest.write("proc/stat", """
                cpu  1 2 3 4 5 6 7 8 9 10 11
                cpu0 21 22
                intr 5 6
                """);
        guest.write("proc/meminfo", """
                MemTotal:       1000 kB
                MemAvailable:    500 kB
                HugePages_Total:       3
                Active(anon):     77 kB
                Nothing:
                """);

        assertEquals("""
                # TYPE kata_agent_scrape_count counter
                kata_agent_scrape_count 1
                # TYPE kata_guest_cpu_time gauge
                kata_guest_cpu_time{cpu="total",item="user"} 1
                kata_guest_cpu_time{cpu="total",item="nice"} 2
                kata_guest_cpu_time{cpu="total",item="system"} 3
                kata_guest_cpu_time{cpu="total",item="idle"} 4
                kata_guest_cpu_time{cpu="total",item="iowait"} 5
                kata_guest_cpu_time{cpu="total",item="irq"} 6
                kata_guest_cpu_time{cpu="total",item="softirq"} 7
                kata_guest_cpu_time{cpu="total",item="steal"} 8
                kata_guest_cpu_time{cpu="total",item="guest"} 9
                kata_guest_cpu_time{cpu="total",item="guest_nice"} 10
                kata_guest_cpu_time{cpu="0",item="user"} 21
                kata_guest_cpu_time{cpu="0",item="nice"} 22
                # TYPE kata_guest_meminfo gauge
                kata_guest_meminfo{item="mem_total"} 1024000
                kata_guest_meminfo{item="mem_available"} 512000
                kata_guest_meminfo{item="huge_pages_total"} 3
                """, metrics(service()));
    }

    @Test
    void scrapesAreCountedAcrossAgentsOfOneBoot() throws IOException, InterruptedException {
        GuestService first = service();
        assertTrue(metrics(first).contains("kata_agent_scrape_count 1\n"));
        assertTrue(metrics(first).contains("kata_agent_scrape_count 2\n"));

        assertTrue(metrics(service()).contains("kata_agent_scrape_count 3\n"));
        guest.write("proc/sys/kernel/random/boot_id", OTHER_BOOT);
        guest = new TestGuest(directory);
        assertTrue(metrics(service()).contains("kata_agent_scrape_count 1\n"));
    }

    @ParameterizedTest
    @CsvSource({"1001, 0, 2", "1000, 0, 1", "999, 1, 1", "998, 999999, 2"})
    void theClockIsSetWhenItIsWrongByASecond(long seconds, long micros, int calls)
            throws IOException, InterruptedException {
        guest.now.set(java.time.Instant.ofEpochSecond(1000));
        GuestService service = service();
        SetGuestDateTimeRequest request = SetGuestDateTimeRequest.newBuilder()
                .setSec(seconds)
                .setUsec(micros)
                .build();

        Answer.of(service::setGuestDateTime, request);

        assertEquals(calls - 1, guest.commands.lines("date").size());
    }

    @Test
    void theClockIsSetToTheMicrosecond() throws IOException, InterruptedException {
        GuestService service = service();
        SetGuestDateTimeRequest request =
                SetGuestDateTimeRequest.newBuilder().setSec(5).setUsec(7).build();

        Answer.of(service::setGuestDateTime, request);
        guest.commands.failNext("date", "not permitted");

        assertEquals(List.of("date --utc --set=1970-01-01T00:00:05.000007Z"), guest.commands.lines("date"));
        assertEquals(Status.Code.INTERNAL, Answer.refusal(service::setGuestDateTime, request));
    }

    @ParameterizedTest
    @CsvSource({"9223372036854775807, 0", "-9223372036854775808, 0", "31556889864403199, 1000000"})
    void aTimeThatNoClockShowsIsRefused(long seconds, long micros) throws IOException, InterruptedException {
        GuestService service = service();
        SetGuestDateTimeRequest request = SetGuestDateTimeRequest.newBuilder()
                .setSec(seconds)
                .setUsec(micros)
                .build();

        assertEquals(Status.Code.INVALID_ARGUMENT, Answer.refusal(service::setGuestDateTime, request));
        assertEquals(List.of(), guest.commands.lines("date"));
    }

    private GuestDetailsResponse details(boolean block) throws IOException, InterruptedException {
        GuestService service = service();
        return Answer.of(
                service::getGuestDetails,
                GuestDetailsRequest.newBuilder().setMemBlockSize(block).build());
    }

    @Test
    void theSizeOfMemoryBlocksIsToldWhenAskedFor() throws IOException, InterruptedException {
        assertEquals(0, details(true).getMemBlockSizeBytes(), "memory can't be plugged in");
        guest.write("sys/devices/system/memory/block_size_bytes", "8000000\n");

        assertEquals(0x8000000L, details(true).getMemBlockSizeBytes());
        assertEquals(0, details(false).getMemBlockSizeBytes());
    }

    @Test
    void theAgentTellsWhatItSupports() throws IOException, InterruptedException {
        AgentDetails agent = details(false).getAgentDetails();

        assertTrue(agent.getSupportsSeccomp());
        assertFalse(agent.getVersion().isEmpty());
        assertEquals(Storages.drivers().asList(), agent.getStorageHandlersList());
    }

    @Test
    void theAgentServesAndHasAVersion() {
        GuestHealthService health = new GuestHealthService("1.2.3");
        CheckRequest request = CheckRequest.getDefaultInstance();

        assertEquals(
                HealthCheckResponse.ServingStatus.SERVING,
                Answer.of(health::check, request).getStatus());
        VersionCheckResponse version = Answer.of(health::version, request);
        assertEquals("1.2.3", version.getAgentVersion());
        assertEquals("0.0.1", version.getGrpcVersion());
    }

    @Test
    void afterAnotherBootNothingOfTheFormerOneIsLeft() throws IOException, InterruptedException {
        guest.start(guest.serve(), "app");
        Path leftOver = Files.writeString(guest.paths.root().resolve("left-over"), "");
        guest.write("proc/sys/kernel/random/boot_id", OTHER_BOOT);
        guest = new TestGuest(directory);
        guest.runtime.set("of-runtime", "running");
        guest.agent.addFormer(FakeAgent.seen(TestGuest.workload("app"), null, ""));

        GuestMachine machine = guest.boot();

        assertEquals(List.of(TestGuest.workload("app")), guest.agent.withdrawn());
        assertTrue(guest.commands.lines().stream().anyMatch(line -> line.endsWith(" delete --force of-runtime")));
        assertEquals("", guest.runtime.state("of-runtime"));
        assertEquals("", guest.runtime.state("app"));
        assertFalse(Files.exists(leftOver));
        assertEquals(List.of(), guest.mounts());
        assertFalse(machine.sandbox().isThere());
        assertEquals(List.of(), machine.containers().all());
        assertEquals(OTHER_BOOT, Files.readString(guest.paths.root().resolve("boot")));
    }

    @Test
    void inTheSameBootNothingIsForgotten() throws IOException, InterruptedException {
        guest.start(guest.serve(), "app");
        guest = new TestGuest(directory);
        guest.agent.addFormer(FakeAgent.seen(TestGuest.workload("app"), null, ""));

        GuestMachine machine = guest.boot();

        assertEquals(List.of(), guest.agent.withdrawn());
        assertEquals(1, machine.containers().all().size());
        assertTrue(machine.sandbox().isThere());
    }

    /** The next agent repeats the step that failed. */
    @ParameterizedTest
    @CsvSource({"former", "withdraw"})
    void aBootIsNotedWhenTheFormerOneIsForgotten(String step) throws IOException, InterruptedException {
        guest.agent.addFormer(FakeAgent.seen(TestGuest.workload("app"), null, ""));
        guest.agent.failNext(step, "no agent");

        assertThrows(CommandFailure.class, guest::boot);
        assertFalse(Files.exists(guest.paths.root().resolve("boot")));

        guest.boot();
        assertEquals(List.of(TestGuest.workload("app")), guest.agent.withdrawn());
    }

    @Test
    void whatStaysMountedIsNotDeleted() throws IOException {
        Path disk = Files.createDirectories(guest.paths.root().resolve("disk"));
        Path file = Files.writeString(disk.resolve("file"), "precious");
        guest.mounted(disk);
        guest.commands.install("umount", command -> {
            guest.write("proc/self/mountinfo", "");
            guest.mounted(disk.resolveSibling("disk").resolve("other"));
            return io.homeostat.reconcile.agent.frontend.ScriptedProcess.ended(0, "", "");
        });

        assertThrows(IOException.class, guest::boot);
        assertTrue(Files.exists(file));
        assertFalse(Files.exists(guest.paths.root().resolve("boot")));
    }
}
