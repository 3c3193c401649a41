package io.homeostat.reconcile.agent.guest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.net.InetAddresses;
import io.homeostat.proto.kata.Interfaces;
import io.homeostat.proto.kata.Routes;
import io.homeostat.proto.kata.types.ARPNeighbor;
import io.homeostat.proto.kata.types.IPAddress;
import io.homeostat.proto.kata.types.IPFamily;
import io.homeostat.proto.kata.types.Interface;
import io.homeostat.proto.kata.types.Route;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;

/** The network of this machine, by ip(8). What is there and not asked for stays as it is. */
final class MachineNetwork {
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9_.:-]{0,14}");
    private static final Pattern HARDWARE_ADDRESS = Pattern.compile("(?i)[0-9a-f]{2}(:[0-9a-f]{2}){5}");
    private static final int LINK_SCOPE = 253;

    /** RTNH_F_ONLINK of rtnetlink(7). */
    private static final int ON_LINK = 4;

    private final Tools tools;

    MachineNetwork(Tools tools) {
        this.tools = tools;
    }

    private JsonNode ask(String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("ip", "-json"));
        command.addAll(List.of(arguments));
        String answer = tools.run(command.toArray(String[]::new));
        // It says nothing where there is nothing.
        return answer.isBlank() ? MAPPER.createArrayNode() : MAPPER.readTree(answer);
    }

    private void tell(List<String> arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("ip"));
        command.addAll(arguments);
        String _ = tools.run(command.toArray(String[]::new));
    }

    Interfaces interfaces() throws IOException, InterruptedException {
        Interfaces.Builder all = Interfaces.newBuilder();
        for (JsonNode link : ask("address", "show")) {
            Interface.Builder one = all.addInterfacesBuilder()
                    .setDevice(link.path("ifname").asText())
                    .setName(link.path("ifname").asText())
                    .setHwAddr(link.path("address").asText())
                    .setMtu(link.path("mtu").asLong());
            for (JsonNode address : link.path("addr_info")) {
                one.addIPAddresses(IPAddress.newBuilder()
                        .setFamily(family(address.path("local").asText()))
                        .setAddress(address.path("local").asText())
                        .setMask(address.path("prefixlen").asText()));
            }
        }
        return all.build();
    }

    private static IPFamily family(String address) {
        return address.contains(":") ? IPFamily.v6 : IPFamily.v4;
    }

    Routes routes() throws IOException, InterruptedException {
        Routes.Builder all = Routes.newBuilder();
        for (IPFamily family : List.of(IPFamily.v4, IPFamily.v6)) {
            for (JsonNode route : ask(option(family), "route", "show", "table", "main")) {
                all.addRoutes(Route.newBuilder()
                        .setFamily(family)
                        .setDest(destination(route.path("dst").asText(), family))
                        .setGateway(route.path("gateway").asText())
                        .setDevice(route.path("dev").asText())
                        .setSource(route.path("prefsrc").asText())
                        .setScope(route.path("scope").asText().equals("link") ? LINK_SCOPE : 0));
            }
        }
        return all.build();
    }

    private static String option(IPFamily family) {
        return family == IPFamily.v6 ? "-6" : "-4";
    }

    private static String destination(String dst, IPFamily family) {
        if (dst.equals("default")) {
            return "";
        }
        return dst.contains("/") ? dst : dst + (family == IPFamily.v6 ? "/128" : "/32");
    }

    /** Names an interface, which is known by its hardware address or else by its name, and gives it what it lacks. */
    void update(Interface wanted) throws IOException, InterruptedException {
        String name = name(wanted.getName());
        String now = name;
        if (!wanted.getHwAddr().isEmpty()) {
            String address = hardware(wanted.getHwAddr());
            for (JsonNode link : ask("link", "show")) {
                if (link.path("address").asText().equals(address)) {
                    now = link.path("ifname").asText();
                }
            }
        }
        if (!now.equals(name)) {
            tell(List.of("link", "set", "dev", now, "down"));
            tell(List.of("link", "set", "dev", now, "name", name));
        }
        if (wanted.getMtu() > 0) {
            tell(List.of("link", "set", "dev", name, "mtu", Long.toUnsignedString(wanted.getMtu())));
        }
        tell(List.of("link", "set", "dev", name, "up"));
        for (IPAddress address : wanted.getIPAddressesList()) {
            List<String> arguments = new ArrayList<>(
                    List.of("address", "replace", prefix(address.getAddress() + "/" + address.getMask()), "dev", name));
            if (family(address.getAddress()) == IPFamily.v6) {
                // Whoever has given it knows that nobody else has it.
                arguments.add("nodad");
            }
            tell(arguments);
        }
    }

    void update(Routes wanted) throws IOException, InterruptedException {
        for (Route route : wanted.getRoutesList()) {
            IPFamily family = route.getDest().isEmpty() && route.getGateway().isEmpty()
                    ? route.getFamily()
                    : family(route.getDest().isEmpty() ? route.getGateway() : route.getDest());
            List<String> arguments = new ArrayList<>(List.of(
                    option(family),
                    "route",
                    "replace",
                    route.getDest().isEmpty() ? "default" : prefix(route.getDest())));
            if (!route.getGateway().isEmpty()) {
                arguments.addAll(List.of("via", address(route.getGateway())));
            }
            arguments.addAll(List.of("dev", name(route.getDevice())));
            if (!route.getSource().isEmpty()) {
                arguments.addAll(List.of("src", address(route.getSource())));
            }
            if (route.getScope() == LINK_SCOPE && family == IPFamily.v4) {
                arguments.addAll(List.of("scope", "link"));
            }
            if ((route.getFlags() & ON_LINK) != 0) {
                arguments.add("onlink");
            }
            if (route.getMtu() > 0) {
                arguments.addAll(List.of("mtu", Integer.toUnsignedString(route.getMtu())));
            }
            tell(arguments);
        }
    }

    void add(List<ARPNeighbor> neighbors) throws IOException, InterruptedException {
        for (ARPNeighbor one : neighbors) {
            tell(List.of(
                    "neighbour",
                    "replace",
                    address(one.getToIPAddress().getAddress()),
                    "lladdr",
                    hardware(one.getLladdr()),
                    "dev",
                    name(one.getDevice()),
                    "nud",
                    "permanent"));
        }
    }

    private static String name(String text) {
        if (!NAME.matcher(text).matches()) {
            throw Refusals.invalid("'" + text + "' is no name of a network interface");
        }
        return text;
    }

    private static String hardware(String text) {
        if (!HARDWARE_ADDRESS.matcher(text).matches()) {
            throw Refusals.invalid("'" + text + "' is no hardware address");
        }
        return text.toLowerCase(Locale.ROOT);
    }

    private static String address(String text) {
        if (!InetAddresses.isInetAddress(text)) {
            throw Refusals.invalid("'" + text + "' is no address");
        }
        return text;
    }

    private static String prefix(String text) {
        int slash = text.indexOf('/');
        if (slash < 0 || !text.substring(slash + 1).matches("[0-9]{1,3}")) {
            throw Refusals.invalid("'" + text + "' is no address and the length of its prefix");
        }
        return address(text.substring(0, slash)) + text.substring(slash);
    }
}
