package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.protobuf.Empty;
import io.grpc.Status;
import io.homeostat.guest.FakeMachine;
import io.homeostat.guest.FakeMonitor;
import io.homeostat.proto.kata.CreateSandboxRequest;
import io.homeostat.proto.kata.KernelModule;
import io.homeostat.proto.kata.Routes;
import io.homeostat.proto.kata.Storage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Sandboxes: made once in each boot of their guest, watched, given their network back, and lost only by what the guest itself tells. */
final class SandboxTest {
    private static final String SANDBOX = "sandbox/guest";
    private static final String MAC = "02:00:00:00:00:01";

    @RegisterExtension
    @Order(1)
    final Guest guest = new Guest();

    @RegisterExtension
    @Order(2)
    final Homeostat homeostat = new Homeostat();

    private Document withNetwork() {
        return guest.sandbox()
                .with("interfaces", List.of(Map.of("name", "eth0", "hwAddr", MAC, "addresses", List.of("10.0.0.2/24"))))
                .with("routes", List.of(Map.of("dest", "0.0.0.0/0", "gateway", "10.0.0.1", "device", "eth0")))
                .with(
                        "neighbors",
                        List.of(Map.of("address", "10.0.0.1", "lladdr", "02:00:00:00:00:02", "device", "eth0")));
    }

    @Test
    void aGuestIsMadeASandboxOfOnceAndTheNextApplyHasNothingToDo() {
        guest.agent().letSetClock();
        guest.agent().plugIn("ens3", MAC);

        homeostat.applied(withNetwork());

        assertEquals(
                List.of("eth0 10.0.0.2/24", "default via 10.0.0.1 dev eth0"),
                guest.agent().network().words());
        assertTrue(guest.agent().clock().getEpochSecond() > 1_000_000_000, "the clock");
        homeostat.run("plan", "--detailed-exitcode").exits(0);
        homeostat.applied(withNetwork());
        assertEquals(1, guest.fake().calls().count("CreateSandbox"));
        assertEquals(1, guest.fake().calls().count("UpdateInterface"));
        List<String> order = guest.fake().calls().methods().stream()
                .filter(List.of("UpdateInterface", "UpdateRoutes", "AddARPNeighbors", "CreateSandbox")::contains)
                .toList();
        assertEquals(List.of("UpdateInterface", "UpdateRoutes", "AddARPNeighbors", "CreateSandbox"), order);
        homeostat.run("describe", SANDBOX).exits(0).says("Guest").says("agent      4.1.0");
        assertEquals("True", Homeostat.condition(homeostat.status(SANDBOX), "Healthy"));
    }

    @Tag("nightly")
    @Test
    void whatItsGuestUsesIsShown() {
        homeostat.declare("guest.yaml", guest.sandbox().with("metrics.interval", "1s"));
        Agent _ = homeostat.agent();

        eventually().until(() -> {
            JsonNode metrics = homeostat.status(SANDBOX).path("metrics");
            return metrics.path("memoryBytes").asLong() == 1L << 30
                    && metrics.path("cpuPercent").asDouble() > 0;
        });
    }

    @Test
    void aNetworkThatSomebodyHasChangedIsPutBackInPlace() {
        guest.agent().plugIn("eth0", MAC);
        homeostat.applied(withNetwork());
        guest.agent().network().takeAway("eth0", "10.0.0.2");
        guest.agent().network().give("eth0", "10.0.0.99", "24");

        homeostat.run("plan", "--detailed-exitcode").exits(2).says("eth0 ").says(" 10.0.0.2/24");
        homeostat
                .run(
                        "apply",
                        "-f",
                        homeostat.file("desired.yaml", withNetwork()).toString())
                .exits(0);

        assertEquals(
                List.of("eth0 10.0.0.99/24", "eth0 10.0.0.2/24", "default via 10.0.0.1 dev eth0"),
                guest.agent().network().words());
        assertTrue(
                homeostat.events(SANDBOX).toString().contains("DRIFT_DETECTED"),
                () -> homeostat.events(SANDBOX).toString());
        // What it can't take away is said, and is no reason to do anything.
        homeostat.run("plan", "--detailed-exitcode").exits(0);
        homeostat.run("describe", SANDBOX).says("eth0 has the address 10.0.0.99/24, which is not declared");
        assertEquals(1, guest.fake().calls().count("CreateSandbox"));
    }

    @Tag("nightly")
    @Test
    void anotherNetworkIsGivenInPlaceAndAnotherHostnameIsNot() {
        guest.agent().plugIn("eth0", MAC);
        homeostat.applied(withNetwork());

        homeostat.applied(withNetwork()
                .with(
                        "interfaces",
                        List.of(Map.of(
                                "name", "eth0", "hwAddr", MAC, "addresses", List.of("10.0.0.2/24", "10.0.0.3/24")))));
        assertEquals(1, guest.fake().calls().count("CreateSandbox"));
        assertTrue(guest.agent().network().words().contains("eth0 10.0.0.3/24"));

        homeostat
                .run(
                        "plan",
                        "-f",
                        homeostat
                                .file("other.yaml", withNetwork().with("hostname", "other"))
                                .toString())
                .says("sandbox changed");
    }

    @Test
    void aGuestThatBootsAnewIsMadeASandboxOfAgain() throws IOException {
        homeostat.applied(guest.sandbox());

        guest.fake().reboot();

        homeostat.run("plan", "--detailed-exitcode").exits(2).says("booted");
        assertEquals("restart GUEST_LOST", homeostat.planned(SANDBOX));
        homeostat.applied(guest.sandbox());
        assertTrue(guest.agent().hasSandbox());
        assertEquals(2, guest.fake().calls().count("CreateSandbox"));
    }

    @Tag("nightly")
    @Test
    void aGuestWhoseAgentWasRestartedAloneIsLeftAsItIsWhereNobodyHereCanBootIt() throws IOException {
        homeostat.applied(guest.sandbox());

        guest.fake().restartAgent();
        homeostat.apply(guest.sandbox()).exits(1).says("started again").says("boot it anew");

        assertEquals(1, guest.fake().calls().count("CreateSandbox"));
        JsonNode status = homeostat.status(SANDBOX);
        assertEquals("False", Homeostat.condition(status, "Converged"), status::toString);
        assertTrue(status.toString().contains("GuestLost"), status::toString);
    }

    @Tag("nightly")
    @Test
    void ofTwoThatAreDeclaredAtOnceForOneGuestOneIsMade() {
        homeostat
                .apply(
                        guest.sandbox().with("start.attempts", 1),
                        Document.sandbox("second", "unix://" + guest.socket()).with("start.attempts", 1))
                .exits(1)
                .says("unix://" + guest.socket());

        assertEquals(1, guest.fake().calls().count("CreateSandbox"));
        homeostat.run("status", SANDBOX, "sandbox/second").says("RUNNING");
    }

    @Test
    void aGuestThatHasASandboxOfSomebodyElseIsNotTouched() {
        guest.agent().takeForSomebodyElse();

        homeostat
                .apply(guest.sandbox().with("start.attempts", 1))
                .exits(1)
                .says("has had a sandbox since it booted, and another one would destroy what runs in it");

        homeostat.run("delete", SANDBOX).exits(0);
        assertEquals(0, guest.fake().calls().count("CreateSandbox"));
        assertEquals(0, guest.fake().calls().count("DestroySandbox"));
    }

    @Test
    void aGuestThatHangsIsDegradedAndNotRestartedAndADeleteIsNotHeldUp() {
        homeostat.applied(guest.sandbox().with("health.timeout", "300ms"));

        // On a busy machine even a guest that is well may not answer within such a time.
        guest.fake().faults().hang("UpdateContainer");
        eventually()
                .untilAsserted(() -> homeostat.run("status", SANDBOX).exits(1).says("blocked"));
        guest.fake().faults().clear();
        homeostat.awaitRunning(SANDBOX);
        guest.fake().faults().hang("Check");
        homeostat
                .run("status", SANDBOX)
                .exits(1)
                .says("its guest does not answer: Check was not answered within 300 ms (since ");
        guest.fake().faults().clear();
        assertEquals(1, guest.fake().calls().count("CreateSandbox"));
        assertEquals(0, homeostat.status(SANDBOX).get("restarts").asInt());

        guest.fake().faults().hang("DestroySandbox");
        homeostat.run("delete", SANDBOX).exits(0);
    }

    @Test
    void whatAnAgentRefusesIsSaidAndNothingIsLeftHalfDone() {
        guest.fake().faults().refuse("CreateSandbox", Status.INTERNAL.withDescription("mount failed\u001b[31m"));

        homeostat.apply(guest.sandbox().with("start.attempts", 1)).exits(1).says("CreateSandbox: mount failed?[31m");
        assertFalse(guest.agent().hasSandbox());

        guest.fake().faults().clear();
        homeostat.applied(guest.sandbox());
    }

    @Tag("nightly")
    @Test
    void aGuestThatNeverComesIsSaidWithWhatWasTriedAndWhatToDo() {
        Document nowhere = Document.sandbox("guest", "unix://" + guest.root().resolve("no.sock"))
                .with("start.timeout", "500ms")
                .with("start.attempts", 1);

        homeostat
                .apply(nowhere)
                .exits(1)
                .says("the guest of sandbox/guest can't be used, 500ms after it was first tried: unix://"
                        + guest.root().resolve("no.sock"))
                .says("spec.endpoint");

        guest.fake().faults().hang("UpdateContainer");
        homeostat
                .apply(guest.sandbox().with("start.timeout", "500ms").with("start.attempts", 1))
                .exits(1)
                .says("a call holds its agent's lock, so that it does nothing else; boot it anew");
        assertEquals(0, guest.fake().calls().count("CreateSandbox"));
    }

    @Tag("nightly")
    @Test
    void aNetworkThatAnAgentTakesAndDoesNotMakeIsAFailure() {
        guest.agent().plugIn("eth0", MAC);
        guest.fake().faults().ignore("UpdateRoutes", Routes.getDefaultInstance());

        homeostat
                .apply(withNetwork().with("start.attempts", 1))
                .exits(1)
                .says("its agent has taken the network, and does not have it: a route by 10.0.0.1 on eth0 is missing");
        assertEquals(0, guest.fake().calls().count("CreateSandbox"));

        guest.fake().faults().clear();
        homeostat.applied(withNetwork());
        guest.agent().network().takeAway("eth0", "10.0.0.2");
        guest.fake().faults().refuse("UpdateInterface", Status.INTERNAL.withDescription("no such device"));
        homeostat
                .apply(withNetwork())
                .exits(1)
                .says("could not give sandbox/guest its network: UpdateInterface: no such device");
        assertEquals(1, guest.fake().calls().count("CreateSandbox"));
    }

    @Tag("nightly")
    @Test
    void aNetworkThatCanNotBeReadIsSaidAndNothingIsSent() {
        guest.agent().plugIn("eth0", MAC);
        homeostat.applied(withNetwork());
        guest.fake().faults().refuse("ListRoutes", Status.PERMISSION_DENIED.withDescription("denied by the policy"));

        homeostat.run("plan", "--detailed-exitcode").exits(0);
        homeostat
                .run("describe", SANDBOX)
                .says("its network can't be compared: ListInterfaces or ListRoutes: denied by the policy");
        homeostat
                .apply(withNetwork().with("neighbors", List.of()))
                .exits(1)
                .says("its network can't be read: ListInterfaces or ListRoutes: denied by the policy");
    }

    @Tag("nightly")
    @Test
    void aSandboxThatAnAgentDoesNotLetGoStaysAndIsSaid() {
        homeostat.applied(guest.sandbox());
        guest.fake()
                .faults()
                .refuse("DestroySandbox", Status.PERMISSION_DENIED.withDescription("denied by the policy"));

        homeostat
                .run("delete", SANDBOX, "--timeout", "20s")
                .exits(1)
                .says("could not stop sandbox/guest: DestroySandbox: denied by the policy");
        assertTrue(guest.agent().hasSandbox());

        guest.fake().faults().clear();
        homeostat.run("delete", SANDBOX).exits(0);
        assertEquals(1, guest.fake().calls().count("CreateSandbox"));
    }

    @Tag("nightly")
    @Test
    void noSandboxIsAskedOfAnAgentThatIsAboutToEnd() {
        guest.fake().bootAgain();
        guest.fake().endAfter(Duration.ofMillis(700));
        homeostat.applied(guest.sandbox());

        homeostat.applied(guest.sandbox().with("hostname", "other"));

        assertEquals("other", guest.fake().agent().askedFor().getHostname());
        assertEquals(2, guest.fake().calls().count("CreateSandbox"));
        assertEquals(1, guest.fake().calls().mostInOneBoot("CreateSandbox"));
    }

    @Tag("nightly")
    @Test
    void anAgentThatDoesNotEndWithItsSandboxIsSaidAndHoldsUpNothing() {
        guest.fake().endAfter(Duration.ofHours(1));
        homeostat.applied(guest.sandbox());

        homeostat.run("delete", SANDBOX).exits(0);

        homeostat.run("events").says("was destroyed, and its agent goes on");
        assertFalse(guest.agent().hasSandbox());
    }

    @Tag("nightly")
    @Test
    void aSandboxIsTakenUpAgainWhenTheDatabaseIsLost() throws IOException {
        homeostat.applied(guest.sandbox());
        try (var files = Files.list(homeostat.stateDir())) {
            for (Path file : files.filter(one -> one.getFileName().toString().startsWith("homeostat.db"))
                    .toList()) {
                Files.delete(file);
            }
        }

        homeostat.applied(guest.sandbox());

        assertEquals(1, guest.fake().calls().count("CreateSandbox"));
        assertTrue(
                homeostat.events(SANDBOX).toString().contains("ADOPTED"),
                () -> homeostat.events(SANDBOX).toString());
    }

    @Tag("nightly")
    @Test
    void whatAnAgentLogsIsTheLogOfItsSandbox() throws IOException {
        Path socket = guest.root().resolve("hv.sock");
        try (FakeMonitor monitor = new FakeMonitor(socket, guest.socket())) {
            monitor.log("{\"msg\":\"announce\"}");
            homeostat.agent();
            homeostat.declare(
                    "guest.yaml",
                    Document.sandbox("guest", "hvsock://" + socket + ":1024").with("stop.timeout", "5s"));
            homeostat.awaitRunning(SANDBOX);

            eventually().until(() -> homeostat.run("logs", SANDBOX).out().contains("announce"));
            monitor.log("{\"msg\":\"later\"}");
            eventually().until(() -> homeostat.run("logs", SANDBOX).out().contains("later"));
            homeostat.run("describe", SANDBOX).exits(0).says("later");
            homeostat.withdraw("guest.yaml");
            eventually().until(() -> guest.fake().calls().count("DestroySandbox") == 1);
        }
    }

    @Tag("nightly")
    @Test
    void aGuestThatWasSilentIsToldTheTimeAgain() {
        guest.agent().letSetClock();
        homeostat.agent();
        homeostat.declare(
                "guest.yaml", guest.sandbox().with("health.interval", "1s").with("health.timeout", "300ms"));
        homeostat.awaitRunning(SANDBOX);
        Instant before = guest.agent().clock();

        guest.fake().faults().hang("Check");
        long asked = guest.fake().calls().count("Check");
        // Twice at least by the agent.
        eventually().until(() -> guest.fake().calls().count("Check") >= asked + 3);
        guest.fake().faults().clear();

        eventually().until(() -> guest.agent().clock().isAfter(before));
        homeostat.awaitRunning(SANDBOX);
    }

    @Test
    void whatIsDeclaredIsWhatTheAgentIsAskedFor() {
        homeostat.applied(guest.sandbox()
                .with("hostname", "box")
                .with("dns", List.of("10.0.0.1", "fd00::1"))
                .with("sharedPidNamespace", true)
                .with("kernelModules", List.of("zram", "nf_conntrack hashsize=4096 x"))
                .with(
                        "storages",
                        List.of(Map.of(
                                "driver",
                                "ephemeral",
                                "source",
                                "tmpfs",
                                "fstype",
                                "tmpfs",
                                "mountPoint",
                                "/run/data",
                                "options",
                                List.of("size=1m", "noexec")))));

        CreateSandboxRequest asked = guest.agent().askedFor();
        assertFalse(asked.getSandboxId().isEmpty());
        assertEquals(
                CreateSandboxRequest.newBuilder()
                        .setSandboxId(asked.getSandboxId())
                        .setHostname("box")
                        .addDns("nameserver 10.0.0.1")
                        .addDns("nameserver fd00::1")
                        .setSandboxPidns(true)
                        .addKernelModules(KernelModule.newBuilder().setName("zram"))
                        .addKernelModules(KernelModule.newBuilder()
                                .setName("nf_conntrack")
                                .addParameters("hashsize=4096")
                                .addParameters("x"))
                        .addStorages(Storage.newBuilder()
                                .setDriver("ephemeral")
                                .setSource("tmpfs")
                                .setFstype("tmpfs")
                                .setMountPoint("/run/data")
                                .addOptions("size=1m")
                                .addOptions("noexec"))
                        .build(),
                asked);
    }

    @Tag("nightly")
    @Test
    void anotherPolicyTakesAnotherBoot() throws IOException {
        Path rules = Files.writeString(guest.root().resolve("policy.rego"), "package agent_policy\n");
        guest.fake().faults().ignore("SetPolicy", Empty.getDefaultInstance());
        Document strict = guest.sandbox().with("policy.file", rules.toString());
        homeostat.applied(strict);
        assertEquals(
                List.of("SetPolicy", "CreateSandbox"),
                guest.fake().calls().methods().stream()
                        .filter(List.of("SetPolicy", "CreateSandbox")::contains)
                        .toList());
        homeostat.run("plan", "--detailed-exitcode").exits(0);

        Files.writeString(rules, "package agent_policy\ndefault AllowRequestsFailingPolicy := false\n");

        homeostat.run("plan", "--detailed-exitcode").exits(2).says("content of " + rules + " changed");
        guest.fake().bootAgain();
        homeostat.applied(strict);
        assertEquals(2, guest.fake().calls().count("SetPolicy"));
        assertEquals(1, guest.fake().calls().mostInOneBoot("CreateSandbox"));
        assertEquals("guest", guest.agent().askedFor().getHostname(), "its own name where none is declared");
    }

    @Tag("nightly")
    @Test
    void aPolicyIsSentFirstAndAnAgentWithoutOneSaysSo() throws IOException {
        Path rules = Files.writeString(guest.root().resolve("policy.rego"), "package agent_policy\n");

        homeostat
                .apply(guest.sandbox().with("policy.file", rules.toString()).with("start.attempts", 1))
                .exits(1)
                .says("/grpc.AgentService/SetPolicy is not supported");
        assertEquals(0, guest.fake().calls().count("CreateSandbox"));

        homeostat
                .apply(guest.sandbox()
                        .with("policy.file", guest.root().resolve("none.rego").toString()))
                .exits(1)
                .says("spec.policy.file ")
                .says(guest.root().resolve("none.rego").toString());
    }

    @Tag("nightly")
    @Test
    void aGuestThatIsGoneIsLostOnlyAfterAWhileAndMadeAgainWhenItIsBack() throws IOException {
        homeostat.agent();
        Document impatient = guest.sandbox().with("health.interval", "1s").with("health.failureThreshold", 2);
        homeostat.declare("guest.yaml", impatient);
        homeostat.awaitRunning(SANDBOX);

        guest.fake().shutDown();

        eventually().until(() -> homeostat.status(SANDBOX).toString().contains("GuestLost"));
        guest.fake().reboot();
        homeostat.awaitRunning(SANDBOX);
        assertEquals(2, guest.fake().calls().count("CreateSandbox"));
    }

    @Tag("nightly")
    @Test
    void aGuestThatComesBackWithWhatWasGivenUpLosesThatAndIsMadeASandboxOfAgain() throws IOException {
        homeostat.agent();
        guest.fake().bootAgain();
        homeostat.declare(
                "guest.yaml", guest.sandbox().with("health.interval", "1s").with("health.failureThreshold", 2));
        homeostat.declare("app.yaml", Document.container("app", "guest", "sleep 1000"));
        homeostat.awaitRunning("container/app");

        guest.fake().stopListening();
        eventually().until(() -> homeostat.run("events").out().contains("had ended with its guest"));
        guest.fake().listen();

        homeostat.awaitRunning(SANDBOX);
        homeostat.awaitRunning("container/app");
        assertEquals(1, guest.fake().calls().count("DestroySandbox"));
        assertEquals(1, guest.fake().calls().mostInOneBoot("CreateSandbox"));
        assertEquals(1, guest.agent().containers().size());
    }

    @Tag("nightly")
    @Test
    void whatWasGivenUpEndsWithItsDeletionWhereItsGuestIsBack() throws IOException {
        homeostat.applied(guest.sandbox());
        guest.fake().stopListening();
        homeostat.run("stop", SANDBOX, "--reason", "test").exits(0);
        assertEquals(0, guest.fake().calls().count("DestroySandbox"));
        guest.fake().listen();

        homeostat.run("delete", SANDBOX).exits(0);

        assertEquals(1, guest.fake().calls().count("DestroySandbox"));
        assertFalse(guest.agent().hasSandbox());
    }

    @Tag("nightly")
    @Test
    void theProcessThatAGuestRunsInIsRestartedForANewBoot() throws IOException {
        Path socket = guest.root().resolve("vm.sock");
        Document machine = machine(socket);
        Document sandbox = Document.sandbox("guest", "unix://" + socket)
                .with("dependsOn", List.of("process/guest-vm"))
                .with("start.timeout", "20s")
                .with("stop.timeout", "5s")
                .with("health.interval", "1s");
        homeostat.agent();
        homeostat.declare("guest.yaml", machine, sandbox);
        homeostat.awaitRunning(SANDBOX);
        long before = homeostat.pid("process/guest-vm");

        // The end of the machine is the end of what is in it.
        homeostat.kill("process/guest-vm");

        homeostat.awaitAnother("process/guest-vm", before);
        homeostat.awaitRunning(SANDBOX);
        long second = homeostat.pid("process/guest-vm");

        // Its agent alone is no use without another boot.
        Files.createFile(guest.root().resolve("vm/restart-agent"));
        homeostat.awaitAnother("process/guest-vm", second);
        homeostat.awaitRunning(SANDBOX);
        assertTrue(
                homeostat.events("process/guest-vm").toString().contains("STOPPED"),
                () -> homeostat.events("process/guest-vm").toString());
    }

    @Tag("nightly")
    @Test
    void aNewBootThatApplyAsksForIsWaitedFor() throws IOException {
        Path socket = guest.root().resolve("vm.sock");
        Document[] both = {
            machine(socket),
            Document.sandbox("guest", "unix://" + socket)
                    .with("dependsOn", List.of("process/guest-vm"))
                    .with("stop.timeout", "5s")
                    .with("health.interval", "1s")
        };
        homeostat.applied(both);
        Files.createFile(guest.root().resolve("vm/restart-agent"));
        eventually().until(() -> !Files.exists(guest.root().resolve("vm/restart-agent")));
        homeostat.run("plan", "--detailed-exitcode").exits(2).says(": process/guest-vm is restarted");

        homeostat.applied(both);

        homeostat.run("status").exits(0);
        homeostat.run("plan", "--detailed-exitcode").exits(0);
    }

    private Document machine(Path socket) {
        List<String> arguments = new ArrayList<>(List.of(
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                FakeMachine.class.getName(),
                socket.toString(),
                guest.root().resolve("vm").toString()));
        return Document.process("guest-vm")
                .with("install", "local")
                .with(
                        "entryPoint",
                        Path.of(System.getProperty("java.home"), "bin", "java").toString())
                .with("arguments", arguments)
                .with("stop.timeout", "5s");
    }
}
