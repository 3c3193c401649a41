package io.homeostat.reconcile.runtime.kata;

import static io.homeostat.reconcile.runtime.kata.KataScene.assertFails;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.desired.model.guest.GuestNetwork;
import io.homeostat.desired.model.guest.IpPrefix;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.guest.GuestFailure;
import io.homeostat.observe.guest.UnreachableGuest;
import io.homeostat.observe.guest.UnreachableGuest.Reason;
import io.homeostat.proto.kata.AddARPNeighborsRequest;
import io.homeostat.proto.kata.SetGuestDateTimeRequest;
import io.homeostat.proto.kata.UpdateRoutesRequest;
import io.homeostat.proto.kata.types.ARPNeighbor;
import io.homeostat.proto.kata.types.IPFamily;
import io.homeostat.proto.kata.types.Route;
import io.homeostat.reconcile.runtime.kata.GuestChanges.Refused;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Calls that change a guest: what they say, and what a failure of one says of whether it was carried out. */
@Timeout(120)
class GuestChangesTest extends KataTestBed {
    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private MemoryGuest guest;
    private GuestChanges changes;

    @BeforeEach
    void setUp() throws Exception {
        guest = scene.guest();
        changes = scene.guests(scene.machine(), Kind.SANDBOX)
                .at(GuestEndpoint.parse(KataScene.ENDPOINT))
                .changes(TIMEOUT);
    }

    private Refused refused() {
        return assertThrows(Refused.class, changes::destroySandbox);
    }

    @ParameterizedTest
    @CsvSource({
        "DEADLINE_EXCEEDED, SILENT, TIMED_OUT",
        "CANCELLED, OURS, CONNECTION_LOST",
        "INTERNAL, REFUSED, REFUSED",
        "UNAVAILABLE, REFUSED, REFUSED",
        "PERMISSION_DENIED, DENIED, REFUSED",
        "UNIMPLEMENTED, NOT_SUPPORTED, REFUSED",
        "NOT_FOUND, NO_PROCESS, REFUSED"
    })
    void aRefusalSaysWhatIsKnownByIt(Status.Code code, GuestFailure.Kind kind, FailureCause.Kind cause) {
        guest.refuse("DestroySandbox", code.toStatus());

        Refused refused = refused();

        assertEquals(kind, refused.kind());
        assertEquals(cause, refused.because("could not").failureCause().kind());
        assertEquals(refused, refused.because("could not").getCause());
        assertFalse(refused.because("could not").fatal());
        assertTrue(refused.words().startsWith("DestroySandbox"), refused::words);
    }

    @Test
    void aConnectionThatBreaksIsTold() {
        guest.lose("DestroySandbox");

        assertEquals(GuestFailure.Kind.LOST, refused().kind());
        assertEquals(FailureCause.of(FailureCause.Kind.CONNECTION_LOST), GuestChanges.causeOf(GuestFailure.Kind.LOST));
    }

    @Test
    void whoeverIsInterruptedHearsThatAndNoRefusal() {
        try (MemoryGuest.Held _ = guest.holdNext("DestroySandbox")) {
            Thread.currentThread().interrupt();

            assertThrows(InterruptedException.class, changes::destroySandbox);
        }
        assertFalse(Thread.currentThread().isInterrupted());
    }

    @Test
    void aGuestThatCannotBeReachedIsNotARefusal() {
        guest.vanish(Reason.NO_SOCKET);

        assertEquals(
                Reason.NO_SOCKET,
                assertThrows(UnreachableGuest.class, changes::destroySandbox).reason());
    }

    @Test
    void whateverGoesWrongInAnAttemptIsAFailureWithItsCause() throws Exception {
        guest.silence("DestroySandbox");
        assertFails(
                FailureCause.Kind.TIMED_OUT,
                () -> GuestChanges.attempt("could not", () -> {
                    changes.destroySandbox();
                    return 1;
                }));
        assertFails(
                FailureCause.Kind.FILE_MISSING,
                () -> GuestChanges.attempt("could not", () -> {
                    throw new NoSuchFileException("gone");
                }));
        assertFails(
                FailureCause.Kind.INPUT_OUTPUT,
                () -> GuestChanges.attempt("could not", () -> {
                    throw new IOException("EIO");
                }));
        guest.vanish(Reason.NO_SOCKET);
        assertFails(
                FailureCause.Kind.CONNECTION_LOST,
                () -> GuestChanges.attempt("could not", () -> {
                    changes.destroySandbox();
                    return 1;
                }));
        assertEquals(1, GuestChanges.attempt("could not", () -> 1));
    }

    @Test
    void theClockIsToldInMicroseconds() throws Exception {
        changes.setClock(Instant.ofEpochSecond(1_700_000_000, 123_456_789));

        SetGuestDateTimeRequest request =
                guest.requests(SetGuestDateTimeRequest.class).getFirst();
        assertEquals(1_700_000_000, request.getSec());
        assertEquals(123_456, request.getUsec());
    }

    @Test
    void aRouteToEverywhereHasNoDestinationAndOneWithoutAGatewayIsOfTheLink() throws Exception {
        changes.updateRoutes(List.of(
                new GuestNetwork.Route(IpPrefix.parse("0.0.0.0/0"), "10.0.0.1", "eth0"),
                new GuestNetwork.Route(IpPrefix.parse("10.1.0.0/16"), "", "eth1"),
                new GuestNetwork.Route(IpPrefix.parse("fd00::/8"), "fd00::1", "eth0")));

        List<Route> routes =
                guest.requests(UpdateRoutesRequest.class).getFirst().getRoutes().getRoutesList();
        assertEquals("", routes.get(0).getDest());
        assertEquals("10.0.0.1", routes.get(0).getGateway());
        assertEquals(0, routes.get(0).getScope());
        assertEquals(IPFamily.v4, routes.get(0).getFamily());
        assertEquals("10.1.0.0/16", routes.get(1).getDest());
        assertEquals("eth1", routes.get(1).getDevice());
        assertEquals(253, routes.get(1).getScope());
        assertEquals(IPFamily.v6, routes.get(2).getFamily());
    }

    @Test
    void aNeighbourIsPermanent() throws Exception {
        changes.addNeighbors(List.of(
                new GuestNetwork.Neighbor("10.0.0.1", "02:00:00:00:00:01", "eth0"),
                new GuestNetwork.Neighbor("fd00::1", "02:00:00:00:00:02", "eth1")));

        List<ARPNeighbor> neighbors = guest.requests(AddARPNeighborsRequest.class)
                .getFirst()
                .getNeighbors()
                .getARPNeighborsList();
        assertEquals("10.0.0.1", neighbors.get(0).getToIPAddress().getAddress());
        assertEquals(IPFamily.v4, neighbors.get(0).getToIPAddress().getFamily());
        assertEquals(0x80, neighbors.get(0).getState());
        assertEquals(IPFamily.v6, neighbors.get(1).getToIPAddress().getFamily());
        assertEquals("eth1", neighbors.get(1).getDevice());
        assertEquals("02:00:00:00:00:02", neighbors.get(1).getLladdr());
    }
}
