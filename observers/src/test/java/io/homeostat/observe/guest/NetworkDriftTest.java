package io.homeostat.observe.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertLinesMatch;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.guest.GuestNetwork;
import io.homeostat.desired.model.guest.IpPrefix;
import io.homeostat.observe.ttrpc.KataFrames;
import io.homeostat.proto.kata.Interfaces;
import io.homeostat.proto.kata.Routes;
import io.homeostat.proto.kata.types.IPAddress;
import io.homeostat.proto.kata.types.IPFamily;
import io.homeostat.proto.kata.types.Interface;
import io.homeostat.proto.kata.types.Route;
import io.homeostat.proto.ttrpc.Response;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What has to be sent to a guest, and what can't be had of it. */
class NetworkDriftTest {
    private static final String MAC = "02:00:00:00:00:0a";

    private static final GuestNetwork.Interface ETH0 = declared("eth0", 1500, "10.0.0.2/24", "fd00::2/64");

    private static final List<GuestNetwork.Route> ROUTES =
            List.of(route("0.0.0.0/0", "10.0.0.1"), route("10.8.0.0/16", "10.0.0.1"), route("192.0.2.0/24", ""));

    private static GuestNetwork.Interface declared(String name, int mtu, String... addresses) {
        return new GuestNetwork.Interface(
                name, MAC, mtu, Stream.of(addresses).map(IpPrefix::parse).toList());
    }

    private static GuestNetwork.Route route(String dest, String gateway) {
        return new GuestNetwork.Route(IpPrefix.parse(dest), gateway, "eth0");
    }

    private static GuestNetwork network(GuestNetwork.Interface... interfaces) {
        return new GuestNetwork(List.of(interfaces), ROUTES, List.of());
    }

    /** As agents tell it: in upper case, and with the families swapped. */
    private static Interface seen(String name, int mtu, String... addresses) {
        Interface.Builder result =
                Interface.newBuilder().setName(name).setMtu(mtu).setHwAddr("02:00:00:00:00:0A");
        for (String text : addresses) {
            IpPrefix prefix = IpPrefix.parse(text);
            result.addIPAddresses(IPAddress.newBuilder()
                    .setFamily(prefix.isV6() ? IPFamily.v4 : IPFamily.v6)
                    .setAddress(text.substring(0, text.indexOf('/')))
                    .setMask(String.valueOf(prefix.length())));
        }
        return result.build();
    }

    private static final Interface LO = Interface.newBuilder()
            .setName("lo")
            .setHwAddr("00:00:00:00:00:00")
            .addIPAddresses(IPAddress.newBuilder().setAddress("127.0.0.1").setMask("8"))
            .build();

    private static final List<Interface> LINKS =
            List.of(LO, seen("eth0", 1500, "10.0.0.2/24", "fe80::1/64", "fd00::2/64"));

    private static Route gateway(String gateway) {
        return Route.newBuilder()
                .setDest("0.0.0.0")
                .setGateway(gateway)
                .setDevice("eth0")
                .build();
    }

    private static Route direct(String dest) {
        return Route.newBuilder().setDest(dest).setDevice("eth0").build();
    }

    private static final List<Route> TABLE = List.of(
            gateway("10.0.0.1"),
            gateway("10.0.0.1"),
            direct("192.0.2.0/24"),
            direct("10.0.0.0/24"),
            direct("fd00::/64"),
            direct("fe80::/64"),
            direct("ff00::/8"));

    @Test
    void whatIsDeclaredAndReadBackWithItsLossesIsTheSame() {
        NetworkDrift drift = NetworkDrift.of(network(ETH0), LINKS, TABLE);

        assertTrue(drift.isEmpty());
        assertEquals(List.of(), drift.remarks());
    }

    @Test
    void onlySoManyRemarksAreMade() {
        Interface.Builder many = Interface.newBuilder().setName("eth9");
        for (int i = 0; i < 10_000; i++) {
            many.addIPAddresses(IPAddress.newBuilder()
                    .setAddress("10.1." + i / 250 + "." + i % 250)
                    .setMask("32"));
        }
        List<Interface> links =
                Stream.concat(LINKS.stream(), Stream.of(many.build())).toList();

        List<String> remarks = NetworkDrift.of(network(ETH0), links, TABLE).remarks();

        assertEquals(51, remarks.size());
        assertEquals("and 9950 more that are not declared", remarks.getLast());
    }

    @Test
    void aZoneIsNotLookedUpOnThisMachine() {
        Route told = Route.newBuilder()
                .setGateway("fe80::1%nosuch")
                .setDevice("eth0")
                .build();

        assertEquals(
                "a route by fe80::1%nosuch on eth0 is not declared; the agent can't remove it, a new boot of the guest does",
                NetworkDrift.of(network(ETH0), List.of(), List.of(told))
                        .remarks()
                        .getLast());
    }

    @Test
    void soIsWhatARealAgentWasSentAndThenTold() throws IOException {
        GuestNetwork declared = new GuestNetwork(
                List.of(new GuestNetwork.Interface(
                        "eth0", "1e:a7:ee:9b:6b:3f", 1400, List.of(IpPrefix.parse("10.9.0.2/24")))),
                List.of(route("10.8.0.0/16", "10.9.0.1"), route("0.0.0.0/0", "10.9.0.1")),
                List.of());
        Routes told = Routes.parseFrom(recorded("UpdateRoutes").getPayload());
        List<Interface> before =
                Interfaces.parseFrom(recorded("ListInterfaces").getPayload()).getInterfacesList();
        List<Interface> after =
                List.of(Interface.parseFrom(recorded("UpdateInterface").getPayload()), LO);

        assertEquals(
                new NetworkDrift(
                        declared.interfaces(),
                        true,
                        List.of(
                                "eth0 lacks the address 10.9.0.2/24",
                                "eth0 has an MTU of 1500 instead of 1400",
                                "a route by 10.9.0.1 on eth0 is missing",
                                "a route by 10.9.0.1 on eth0 is missing"),
                        List.of()),
                NetworkDrift.of(declared, before, List.of()));
        assertEquals(
                new NetworkDrift(List.of(), false, List.of(), List.of()),
                NetworkDrift.of(declared, after, told.getRoutesList()));
    }

    private static Response recorded(String method) throws IOException {
        return Response.parseFrom(KataFrames.read().stream()
                .filter(exchange -> exchange.method().equals(method) && exchange.code() == 0)
                .findFirst()
                .orElseThrow()
                .answered()
                .payload());
    }

    @Test
    void anInterfaceIsSentForItsNameMtuAndEachAddressThatIsMissing() {
        for (GuestNetwork.Interface wanted : List.of(
                declared("net0", 1500, "10.0.0.2/24", "fd00::2/64"),
                declared("eth0", 1400, "10.0.0.2/24", "fd00::2/64"),
                declared("eth0", 1500, "10.0.0.2/24", "fd00::2/64", "10.0.0.3/24"))) {
            NetworkDrift drift = NetworkDrift.of(network(wanted), LINKS, TABLE);

            assertEquals(List.of(wanted), drift.interfaces());
            assertTrue(drift.routes(), "they are lost with it");
            assertEquals(List.of(), drift.remarks());
        }
        assertTrue(NetworkDrift.of(network(declared("eth0", 0, "10.0.0.2/24", "fd00::2/64")), LINKS, TABLE)
                .isEmpty());
        assertEquals(
                List.of(declared("net0", 1500, "10.0.0.2/24")),
                NetworkDrift.of(network(declared("net0", 0, "10.0.0.2/24")), LINKS, TABLE)
                        .interfaces());
    }

    @Test
    void whatWillBePutRightIsSaid() {
        GuestNetwork wanted = new GuestNetwork(
                List.of(declared("net0", 1400, "10.0.0.2/24", "10.0.0.3/24")),
                List.of(route("192.0.2.0/24", ""), route("0.0.0.0/0", "10.0.0.254")),
                List.of());

        assertLinesMatch(
                List.of(
                        "net0 is called eth?0",
                        "net0 lacks .* 10\\.0\\.0\\.3/24",
                        "net0 .* 1500 .* 1400",
                        "the route to 192.0.2.0/24 on eth0 is missing",
                        "a route by 10\\.0\\.0\\.254 .* missing"),
                NetworkDrift.of(wanted, List.of(seen("eth\u001b0", 1500, "10.0.0.2/24")), List.of())
                        .differences());
    }

    @Test
    void routesAreSentWhenOneIsMissingAndWithoutThemNothingIs() {
        assertTrue(NetworkDrift.of(network(ETH0), LINKS, TABLE.subList(1, 7)).routes());
        assertTrue(NetworkDrift.of(network(ETH0), LINKS, List.of(gateway("10.0.0.1"), gateway("10.0.0.1")))
                .routes());

        GuestNetwork none =
                new GuestNetwork(List.of(declared("eth0", 1400, "10.0.0.2/24", "fd00::2/64")), List.of(), List.of());
        assertFalse(NetworkDrift.of(none, LINKS, List.of()).routes());
    }

    @Test
    void aDefaultRouteWithoutAGatewayNeedNotBeTold() {
        GuestNetwork declared = new GuestNetwork(List.of(), List.of(route("0.0.0.0/0", "")), List.of());

        assertFalse(NetworkDrift.isTold(declared.routes().getFirst()));
        assertTrue(NetworkDrift.of(declared, List.of(), List.of()).isEmpty());
        NetworkDrift told = NetworkDrift.of(declared, List.of(), List.of(direct("")));
        assertTrue(told.isEmpty());
        assertEquals(List.of(), told.remarks());
    }

    @Test
    void whatTheAgentCanNotRemoveIsSaid() {
        List<Interface> links = List.of(
                LO,
                seen("eth0", 1500, "10.0.0.2/24", "fd00::2/64", "10.0.0.9/24"),
                seen("eth1", 1500, "10.1.0.1/24").toBuilder()
                        .setHwAddr("02:00:00:00:00:0b")
                        .build(),
                seen("sit0", 1480).toBuilder().setHwAddr("").build());
        List<Route> table = Stream.concat(TABLE.stream(), Stream.of(gateway("10.0.0.1"), direct("198.51.100.0/24")))
                .toList();

        NetworkDrift drift = NetworkDrift.of(network(ETH0), links, table);

        assertTrue(drift.isEmpty());
        assertLinesMatch(
                List.of(
                        "eth0 has the address 10.0.0.9/24, which is not declared; the agent can't remove it, a new boot"
                                + " of the guest does",
                        "the interface eth1 with 10.1.0.1/24 is not declared; the agent can't remove it",
                        "a route by 10.0.0.1 on eth0 is not declared; the agent can't remove it, a new boot of the"
                                + " guest does",
                        "the route to 198\\.51\\.100\\.0/24 on eth0 .* not .*"),
                drift.remarks());
    }

    @Test
    void anInterfaceThatTheMachineDoesNotHaveIsNotSent() {
        NetworkDrift drift = NetworkDrift.of(network(ETH0), List.of(LO), TABLE);

        assertEquals(List.of(), drift.interfaces());
        assertEquals(
                "there is no interface 02:00:00:00:00:0a for eth0; give the virtual machine one",
                drift.remarks().getFirst());
    }

    @Test
    void nonsenseOfAGuestIsNoError() {
        Interface odd = seen("eth0", 1500, "10.0.0.2/24", "fd00::2/64").toBuilder()
                .addIPAddresses(IPAddress.newBuilder().setAddress("no address").setMask("x"))
                .addIPAddresses(IPAddress.newBuilder().setAddress("10.0.0.7").setMask("999"))
                .build();
        List<Route> table = Stream.concat(
                        TABLE.stream(), Stream.of(direct("nowhere"), direct("x/y"), direct("10.0.0.0/99")))
                .toList();

        NetworkDrift drift = NetworkDrift.of(network(ETH0), List.of(odd), table);

        assertTrue(drift.isEmpty());
        assertEquals(List.of(), drift.remarks());
    }

    /** Within the length that an answer may have. Each address once took as long as the name is. */
    @Test
    void aGuestThatTellsAsMuchAsItMayTakesNoTime() {
        Interface.Builder hostile = Interface.newBuilder().setName("x".repeat(200_000));
        for (int i = 0; i < 12_000; i++) {
            hostile.addIPAddresses(IPAddress.newBuilder()
                    .setAddress("10.0." + i / 250 + "." + (1 + i % 250))
                    .setMask("24"));
        }
        List<Interface> links =
                List.of(seen("eth0", 1500, "10.0.0.2/24", "fd00::2/64"), hostile.build(), hostile.build());

        NetworkDrift drift =
                assertTimeoutPreemptively(Duration.ofSeconds(30), () -> NetworkDrift.of(network(ETH0), links, TABLE));

        assertTrue(drift.isEmpty());
        assertTrue(drift.remarks().getFirst().length() < 2000);
    }
}
