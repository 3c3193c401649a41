package io.homeostat.reconcile.agent.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.Empty;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.homeostat.proto.kata.ARPNeighbors;
import io.homeostat.proto.kata.AddARPNeighborsRequest;
import io.homeostat.proto.kata.AddSwapRequest;
import io.homeostat.proto.kata.CopyFileRequest;
import io.homeostat.proto.kata.GetIPTablesRequest;
import io.homeostat.proto.kata.GetOOMEventRequest;
import io.homeostat.proto.kata.Interfaces;
import io.homeostat.proto.kata.ListInterfacesRequest;
import io.homeostat.proto.kata.ListRoutesRequest;
import io.homeostat.proto.kata.OnlineCPUMemRequest;
import io.homeostat.proto.kata.ReseedRandomDevRequest;
import io.homeostat.proto.kata.Routes;
import io.homeostat.proto.kata.SetPolicyRequest;
import io.homeostat.proto.kata.UpdateInterfaceRequest;
import io.homeostat.proto.kata.UpdateRoutesRequest;
import io.homeostat.proto.kata.VolumeStatsRequest;
import io.homeostat.proto.kata.VolumeStatsResponse;
import io.homeostat.proto.kata.types.ARPNeighbor;
import io.homeostat.proto.kata.types.IPAddress;
import io.homeostat.proto.kata.types.Interface;
import io.homeostat.proto.kata.types.Route;
import io.homeostat.reconcile.agent.frontend.ScriptedProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Calls about the files and the network of the machine, and calls that are not answered here. */
class MachineCallsTest extends GuestTestBed {
    private static final int REGULAR = 0100644;

    private GuestService service;

    @BeforeEach
    void prepare() throws IOException, InterruptedException {
        service = new GuestService(guest.boot());
        guest.commands.forgetLines();
    }

    private static CopyFileRequest.Builder file(String path) {
        return CopyFileRequest.newBuilder()
                .setPath(path)
                .setFileMode(REGULAR)
                .setFileSize(2)
                .setUid(-1)
                .setGid(-1)
                .setData(ByteString.copyFromUtf8("hi"));
    }

    @Test
    void aFileIsCopiedIntoTheSharedDirectoryAndNowhereElse() throws IOException {
        Answer.of(service::copyFile, file(GuestPaths.SHARED + "file").build());

        assertEquals("hi", Files.readString(guest.paths.real(GuestPaths.SHARED + "file")));
        assertEquals(
                Status.Code.INTERNAL,
                Answer.refusal(service::copyFile, file("/etc/passwd").build()));
        assertEquals(
                Status.Code.INVALID_ARGUMENT,
                Answer.refusal(
                        service::copyFile,
                        file(GuestPaths.SHARED + "file").setOffset(1).build()));
    }

    @Test
    void aFileThatIsInTheWayIsAFailure() throws IOException {
        Files.createDirectories(guest.paths.real(GuestPaths.SHARED + "file/below"));

        assertEquals(
                Status.Code.INTERNAL,
                Answer.refusal(
                        service::copyFile, file(GuestPaths.SHARED + "file").build()));
    }

    private static VolumeStatsRequest volume(String path) {
        return VolumeStatsRequest.newBuilder().setVolumeGuestPath(path).build();
    }

    @Test
    void theUsageOfAVolumeIsTold() {
        VolumeStatsResponse stats = Answer.of(service::getVolumeStats, volume("/"));

        assertTrue(stats.getUsage(0).getTotal() > 0, stats::toString);
        assertEquals(Status.Code.INTERNAL, Answer.refusal(service::getVolumeStats, volume("/no/such/volume")));
        assertEquals(Status.Code.INTERNAL, Answer.refusal(service::getVolumeStats, volume("proc")));
    }

    @Test
    void interfacesAndRoutesAreListed() {
        guest.commands.install(
                "ip",
                command -> ScriptedProcess.ended(
                        0, command.contains("address") ? "[{\"ifname\": \"eth0\"}]" : "[{\"dev\": \"eth0\"}]", ""));

        Interfaces interfaces = Answer.of(service::listInterfaces, ListInterfacesRequest.getDefaultInstance());
        Routes routes = Answer.of(service::listRoutes, ListRoutesRequest.getDefaultInstance());

        assertEquals("eth0", interfaces.getInterfaces(0).getName());
        assertEquals(2, routes.getRoutesCount());
    }

    @Test
    void anInterfaceIsUpdatedAndAnswered() {
        Interface wanted = Interface.newBuilder().setName("eth0").build();

        Interface answer = Answer.of(
                service::updateInterface,
                UpdateInterfaceRequest.newBuilder().setInterface(wanted).build());

        assertEquals(wanted, answer);
        assertEquals(List.of("ip link set dev eth0 up"), guest.commands.lines());
    }

    @Test
    void routesAreUpdatedAndListed() {
        guest.commands.install(
                "ip",
                command -> ScriptedProcess.ended(0, command.contains("-json") ? "[{\"dev\": \"eth0\"}]" : "", ""));

        Routes answer = Answer.of(
                service::updateRoutes,
                UpdateRoutesRequest.newBuilder()
                        .setRoutes(Routes.newBuilder()
                                .addRoutes(
                                        Route.newBuilder().setDest("10.0.0.0/8").setDevice("eth0")))
                        .build());

        assertEquals(2, answer.getRoutesCount());
        assertEquals(
                "ip -4 route replace 10.0.0.0/8 dev eth0",
                guest.commands.lines().getFirst());
    }

    @Test
    void neighborsAreAdded() {
        Answer.of(
                service::addARPNeighbors,
                AddARPNeighborsRequest.newBuilder()
                        .setNeighbors(ARPNeighbors.newBuilder()
                                .addARPNeighbors(ARPNeighbor.newBuilder()
                                        .setToIPAddress(IPAddress.newBuilder().setAddress("10.0.0.9"))
                                        .setLladdr("02:00:00:00:00:09")
                                        .setDevice("eth0")))
                        .build());

        assertEquals(1, guest.commands.lines("ip neighbour replace 10.0.0.9").size());
    }

    @Test
    void aCommandOfTheMachineThatFailsIsAFailureOfTheCall() {
        guest.commands.failNext("ip", "no");

        assertEquals(
                Status.Code.INTERNAL,
                Answer.refusal(service::listInterfaces, ListInterfacesRequest.getDefaultInstance()));
    }

    @Test
    void aCallThatIsInterruptedIsUnavailable() {
        Thread.currentThread().interrupt();

        assertEquals(
                Status.Code.UNAVAILABLE, Answer.refusal(service::getOOMEvent, GetOOMEventRequest.getDefaultInstance()));

        assertTrue(Thread.interrupted(), "the thread is to end");
        assertFalse(Thread.interrupted());
    }

    private static <Q> void assertNotAnswered(BiConsumer<Q, StreamObserver<Empty>> call, Q request) {
        assertEquals(Status.Code.UNIMPLEMENTED, Answer.refusal(call, request));
    }

    @Test
    void whatNobodyCanDoHereIsUnimplemented() {
        assertNotAnswered(service::addSwap, AddSwapRequest.getDefaultInstance());
        assertNotAnswered(service::onlineCPUMem, OnlineCPUMemRequest.getDefaultInstance());
        assertNotAnswered(service::reseedRandomDev, ReseedRandomDevRequest.getDefaultInstance());
        assertNotAnswered(service::setPolicy, SetPolicyRequest.getDefaultInstance());
        assertEquals(
                Status.Code.UNIMPLEMENTED,
                Answer.refusal(service::getIPTables, GetIPTablesRequest.getDefaultInstance()));
    }
}
