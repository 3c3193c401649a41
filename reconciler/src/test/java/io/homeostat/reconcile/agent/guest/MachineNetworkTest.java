package io.homeostat.reconcile.agent.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.homeostat.proto.kata.Routes;
import io.homeostat.proto.kata.types.ARPNeighbor;
import io.homeostat.proto.kata.types.IPAddress;
import io.homeostat.proto.kata.types.IPFamily;
import io.homeostat.proto.kata.types.Interface;
import io.homeostat.proto.kata.types.Route;
import io.homeostat.reconcile.agent.frontend.ManualTicker;
import io.homeostat.reconcile.agent.frontend.ScriptedProcess;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MachineNetworkTest {
    private static final String LINKS = """
            [{"ifname": "lo", "address": "00:00:00:00:00:00", "mtu": 65536,
              "addr_info": [{"local": "127.0.0.1", "prefixlen": 8}, {"local": "::1", "prefixlen": 128}]},
             {"ifname": "eth7", "address": "02:00:00:00:00:07", "mtu": 1400}]
            """;

    private final ManualTicker ticker = new ManualTicker();
    private final FakeCommands commands = new FakeCommands(ticker);
    private final MachineNetwork network = new MachineNetwork(new Tools(commands, ticker));
    private String addresses = "";
    private String routes4 = "";
    private String routes6 = "";

    @BeforeEach
    void prepare() {
        commands.install("ip", command -> {
            String line = String.join(" ", command);
            return ScriptedProcess.ended(
                    0,
                    switch (line) {
                        case "ip -json address show", "ip -json link show" -> addresses;
                        case "ip -json -4 route show table main" -> routes4;
                        case "ip -json -6 route show table main" -> routes6;
                        default -> "";
                    },
                    "");
        });
    }

    private static Interface.Builder wanted(String name) {
        return Interface.newBuilder().setName(name);
    }

    private static IPAddress address(String address, String mask) {
        return IPAddress.newBuilder().setAddress(address).setMask(mask).build();
    }

    private List<String> update(Interface.Builder wanted) throws IOException, InterruptedException {
        network.update(wanted.build());
        return commands.lines();
    }

    private List<String> update(Route.Builder route) throws IOException, InterruptedException {
        network.update(Routes.newBuilder().addRoutes(route).build());
        return commands.lines();
    }

    private static Route.Builder route(String dest) {
        return Route.newBuilder().setDest(dest).setDevice("eth0");
    }

    @Test
    void interfacesAreListedWithTheirAddresses() throws IOException, InterruptedException {
        addresses = LINKS;

        List<Interface> all = network.interfaces().getInterfacesList();

        assertEquals(
                List.of("lo", "eth7"), all.stream().map(Interface::getDevice).toList());
        assertEquals(List.of("lo", "eth7"), all.stream().map(Interface::getName).toList());
        assertEquals("02:00:00:00:00:07", all.get(1).getHwAddr());
        assertEquals(1400, all.get(1).getMtu());
        assertEquals(0, all.get(1).getIPAddressesCount());
        assertEquals(
                List.of(
                        address("127.0.0.1", "8"),
                        address("::1", "128").toBuilder().setFamily(IPFamily.v6).build()),
                all.getFirst().getIPAddressesList());
    }

    @Test
    void routesOfBothFamiliesAreListed() throws IOException, InterruptedException {
        routes4 = """
                [{"dst": "default", "gateway": "10.0.0.1", "dev": "eth0"},
                 {"dst": "10.0.0.0/24", "dev": "eth0", "prefsrc": "10.0.0.2", "scope": "link"},
                 {"dst": "10.9.9.9", "dev": "eth0", "scope": "global"}]
                """;
        routes6 = "[{\"dst\": \"fd00::5\", \"dev\": \"eth0\"}, {\"dst\": \"default\", \"gateway\": \"fe80::1\"}]";

        assertEquals(
                List.of(
                        Route.newBuilder()
                                .setGateway("10.0.0.1")
                                .setDevice("eth0")
                                .build(),
                        route("10.0.0.0/24").setSource("10.0.0.2").setScope(253).build(),
                        route("10.9.9.9/32").build(),
                        route("fd00::5/128").setFamily(IPFamily.v6).build(),
                        Route.newBuilder()
                                .setGateway("fe80::1")
                                .setFamily(IPFamily.v6)
                                .build()),
                network.routes().getRoutesList());
    }

    @Test
    void noOutputMeansNoRoutes() throws IOException, InterruptedException {
        routes4 = "\n";

        assertEquals(Routes.getDefaultInstance(), network.routes());
    }

    @Test
    void anInterfaceIsBroughtUpWithItsAddressesAndMtu() throws IOException, InterruptedException {
        assertEquals(
                List.of(
                        "ip link set dev eth0 mtu 1500",
                        "ip link set dev eth0 up",
                        "ip address replace 10.0.0.2/24 dev eth0",
                        "ip address replace fd00::2/64 dev eth0 nodad"),
                update(wanted("eth0")
                        .setMtu(1500)
                        .addIPAddresses(address("10.0.0.2", "24"))
                        .addIPAddresses(address("fd00::2", "64"))));
    }

    @Test
    void anInterfaceWithoutAnMtuKeepsIts() throws IOException, InterruptedException {
        assertEquals(List.of("ip link set dev eth0 up"), update(wanted("eth0")));
    }

    @Test
    void theSmallestMtuIsSet() throws IOException, InterruptedException {
        assertEquals(
                List.of("ip link set dev eth0 mtu 1", "ip link set dev eth0 up"),
                update(wanted("eth0").setMtu(1)));
    }

    @Test
    void anInterfaceIsRenamedWhenItsHardwareAddressHasAnotherName() throws IOException, InterruptedException {
        addresses = LINKS;

        assertEquals(
                List.of(
                        "ip -json link show",
                        "ip link set dev eth7 down",
                        "ip link set dev eth7 name eth0",
                        "ip link set dev eth0 up"),
                update(wanted("eth0").setHwAddr("02:00:00:00:00:07".toUpperCase(java.util.Locale.ROOT))));
    }

    @Test
    void anInterfaceThatHasItsNameIsNotTakenDown() throws IOException, InterruptedException {
        addresses = LINKS;

        assertEquals(
                List.of("ip -json link show", "ip link set dev eth7 up"),
                update(wanted("eth7").setHwAddr("02:00:00:00:00:07")));
    }

    @Test
    void anUnknownHardwareAddressLeavesTheName() throws IOException, InterruptedException {
        addresses = LINKS;

        assertEquals(
                List.of("ip -json link show", "ip link set dev eth0 up"),
                update(wanted("eth0").setHwAddr("02:00:00:00:00:99")));
    }

    @Test
    void theDefaultRouteHasTheFamilyOfItsGateway() throws IOException, InterruptedException {
        assertEquals(
                List.of("ip -6 route replace default via fe80::1 dev eth0"),
                update(route("").setGateway("fe80::1")));
    }

    @Test
    void aRouteWithADestinationHasTheFamilyOfThat() throws IOException, InterruptedException {
        assertEquals(
                List.of("ip -6 route replace fd00::/64 dev eth0"),
                update(route("fd00::/64").setFamily(IPFamily.v4)));
    }

    @Test
    void aDefaultRouteWithoutAGatewayHasTheFamilyThatIsNamed() throws IOException, InterruptedException {
        assertEquals(
                List.of("ip -6 route replace default dev eth0"),
                update(route("").setFamily(IPFamily.v6)));
    }

    @Test
    void aRouteHasAllThatIsAskedFor() throws IOException, InterruptedException {
        assertEquals(
                List.of(
                        "ip -4 route replace 10.1.0.0/16 via 10.0.0.1 dev eth0 src 10.0.0.2 scope link onlink mtu 1300"),
                update(route("10.1.0.0/16")
                        .setGateway("10.0.0.1")
                        .setSource("10.0.0.2")
                        .setScope(253)
                        .setFlags(5)
                        .setMtu(1300)));
    }

    @Test
    void aRouteOfTheSixthVersionHasNoScopeAndOtherFlagsMeanNothing() throws IOException, InterruptedException {
        assertEquals(
                List.of("ip -6 route replace fd00::/64 dev eth0 mtu 1"),
                update(route("fd00::/64").setScope(253).setFlags(3).setMtu(1)));
    }

    @Test
    void aRouteOfAnotherScopeHasNoneNamed() throws IOException, InterruptedException {
        assertEquals(
                List.of("ip -4 route replace 10.1.0.0/16 dev eth0"),
                update(route("10.1.0.0/16").setScope(254)));
    }

    @Test
    void neighborsArePermanent() throws IOException, InterruptedException {
        network.add(List.of(ARPNeighbor.newBuilder()
                .setToIPAddress(address("10.0.0.9", ""))
                .setLladdr("02:AA:00:00:00:09")
                .setDevice("eth0")
                .build()));

        assertEquals(
                List.of("ip neighbour replace 10.0.0.9 lladdr 02:aa:00:00:00:09 dev eth0 nud permanent"),
                commands.lines());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "-x", "eth0;reboot", "sixteen.letters0", "a b"})
    void whatIsNoNameOfAnInterfaceIsRefusedBeforeAnythingIsDone(String name) {
        assertEquals(Status.Code.INVALID_ARGUMENT, refused(wanted(name)));
        assertEquals(List.of(), commands.lines());
    }

    @ParameterizedTest
    @CsvSource({"10.0.0.1/x", "10.0.0.1/1234", "10.0.0.1", "nonsense/24", "/24"})
    void whatIsNoPrefixIsRefused(String dest) {
        StatusRuntimeException refused = assertThrows(StatusRuntimeException.class, () -> update(route(dest)));

        assertEquals(Status.Code.INVALID_ARGUMENT, refused.getStatus().getCode());
        assertEquals(List.of(), commands.lines());
    }

    @Test
    void anAddressWithoutAPrefixOrAGatewayThatIsNoneIsRefused() {
        assertEquals(Status.Code.INVALID_ARGUMENT, refused(wanted("eth0").addIPAddresses(address("10.0.0.1", ""))));
        StatusRuntimeException refused = assertThrows(
                StatusRuntimeException.class, () -> update(route("10.0.0.0/8").setGateway("--help")));
        assertEquals(Status.Code.INVALID_ARGUMENT, refused.getStatus().getCode());
    }

    @Test
    void whatIsNoHardwareAddressIsRefused() {
        assertEquals(Status.Code.INVALID_ARGUMENT, refused(wanted("eth0").setHwAddr("02:00:00:00:00:07:08")));
        assertEquals(List.of(), commands.lines());
    }

    private Status.Code refused(Interface.Builder wanted) {
        return assertThrows(StatusRuntimeException.class, () -> update(wanted))
                .getStatus()
                .getCode();
    }

    @Test
    void aCommandThatFailsOrHangsOrIsNotThereIsAFailure() {
        commands.failNext("ip", "first line\nCannot find device");
        IOException failed = assertThrows(IOException.class, network::interfaces);
        commands.hangNext("ip");
        IOException hung = assertThrows(IOException.class, network::interfaces);
        commands.refuseNext("ip");
        IOException refused = assertThrows(IOException.class, network::interfaces);

        assertEquals(
                List.of(true, true, true),
                List.of(
                        String.valueOf(failed.getMessage()).contains("Cannot find device"),
                        String.valueOf(hung.getMessage()).contains("30 s"),
                        String.valueOf(refused.getMessage()).contains("no such program")));
        assertEquals(true, commands.hanging().getFirst().isKilled());
    }
}
