package io.homeostat.guest;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.homeostat.desired.model.guest.IpPrefix;
import io.homeostat.proto.kata.types.IPAddress;
import io.homeostat.proto.kata.types.IPFamily;
import io.homeostat.proto.kata.types.Interface;
import io.homeostat.proto.kata.types.Route;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The network of a guest as its agent changes and tells it. */
public final class FakeNetwork {
    private static final String NO_DEVICE = "Received a netlink error message No such device (os error 19)";

    /** RT_SCOPE_LINK, rtnetlink(7). */
    private static final int LINK = 253;

    private final List<Interface> links = new ArrayList<>();
    private final List<Route> routes = new ArrayList<>();

    FakeNetwork() {
        links.add(Interface.newBuilder()
                .setName("lo")
                .setHwAddr("00:00:00:00:00:00")
                .setMtu(65536)
                .addIPAddresses(IPAddress.newBuilder().setAddress("127.0.0.1").setMask("8"))
                .build());
    }

    /** The machine gets one more. */
    synchronized void plugIn(String name, String hwAddr) {
        links.add(Interface.newBuilder()
                .setName(name)
                .setHwAddr(hwAddr.toUpperCase(Locale.ROOT))
                .setMtu(1500)
                .build());
    }

    /** In upper case, and with the families swapped. */
    synchronized List<Interface> links() {
        return links.stream().map(FakeNetwork::swapped).toList();
    }

    private static Interface swapped(Interface link) {
        Interface.Builder result = link.toBuilder().clearIPAddresses();
        link.getIPAddressesList()
                .forEach(address -> result.addIPAddresses(
                        address.toBuilder().setFamily(address.getAddress().contains(":") ? IPFamily.v4 : IPFamily.v6)));
        return result.build();
    }

    /** Somebody in the machine takes an address away, and with it what was routed over it. */
    public synchronized void takeAway(String name, String address) {
        for (int i = 0; i < links.size(); i++) {
            Interface link = links.get(i);
            if (link.getName().equals(name)) {
                Interface.Builder next = link.toBuilder().clearIPAddresses();
                link.getIPAddressesList().stream()
                        .filter(one -> !one.getAddress().equals(address))
                        .forEach(next::addIPAddresses);
                links.set(i, next.build());
                routes.removeIf(route -> route.getDevice().equals(name));
            }
        }
    }

    /** Somebody in the machine gives an interface an address. */
    public synchronized void give(String name, String address, String length) {
        for (int i = 0; i < links.size(); i++) {
            if (links.get(i).getName().equals(name)) {
                links.set(
                        i,
                        links.get(i).toBuilder()
                                .addIPAddresses(IPAddress.newBuilder()
                                        .setAddress(address)
                                        .setMask(length))
                                .build());
            }
        }
    }

    /** As {@code ip address} and {@code ip route} would tell it: NAME ADDRESS/LENGTH, then DEST via GATEWAY dev NAME. */
    public synchronized List<String> words() {
        List<String> words = new ArrayList<>();
        for (Interface link : links.subList(1, links.size())) {
            link.getIPAddressesList()
                    .forEach(one -> words.add(link.getName() + " " + one.getAddress() + "/" + one.getMask()));
        }
        routes.forEach(route -> words.add((route.getDest().isEmpty() ? "default" : route.getDest())
                + (route.getGateway().isEmpty() ? "" : " via " + route.getGateway()) + " dev " + route.getDevice()));
        return words;
    }

    /** Found by the address of the link, else by the name. Addresses are added; routes with a gateway are lost. */
    synchronized void update(Interface wanted) {
        int place = place(wanted);
        if (place < 0) {
            throw refused("\"update interface: " + NO_DEVICE + "\"");
        }
        Interface link = links.get(place);
        Interface.Builder next = link.toBuilder()
                .setName(wanted.getName())
                .setHwAddr(wanted.getHwAddr().toUpperCase(Locale.ROOT))
                .setMtu(wanted.getMtu());
        wanted.getIPAddressesList().stream()
                .filter(address -> !next.getIPAddressesList().contains(address))
                .forEach(next::addIPAddresses);
        links.set(place, next.build());
        routes.removeIf(route ->
                route.getDevice().equals(link.getName()) && !route.getGateway().isEmpty());
    }

    private int place(Interface wanted) {
        for (int i = 0; i < links.size(); i++) {
            if (links.get(i).getHwAddr().equalsIgnoreCase(wanted.getHwAddr())) {
                return i;
            }
        }
        for (int i = 0; i < links.size(); i++) {
            if (links.get(i).getName().equals(wanted.getName())) {
                return i;
            }
        }
        return -1;
    }

    /** Adds and replaces, one after the other until one is wrong. */
    synchronized void add(List<Route> wanted) {
        for (Route route : wanted) {
            if (links.stream().noneMatch(link -> link.getName().equals(route.getDevice()))) {
                throw refused("\"Failed to update routes: " + NO_DEVICE + "\"");
            }
            routes.removeIf(known ->
                    known.getDest().equals(route.getDest()) && known.getDevice().equals(route.getDevice()));
            routes.add(route);
        }
    }

    /**
     * Of those with a gateway, where they lead is not told, and of one to everywhere without a gateway nothing is. The kernel has one to
     * the network of each address.
     */
    synchronized List<Route> routes() {
        List<Route> result = new ArrayList<>();
        for (Route route : routes) {
            if (!route.getGateway().isEmpty()) {
                result.add(route.toBuilder().setDest("0.0.0.0").build());
            } else if (!route.getDest().isEmpty()) {
                result.add(route);
            }
        }
        for (Interface link : links.subList(1, links.size())) {
            for (IPAddress address : link.getIPAddressesList()) {
                result.add(Route.newBuilder()
                        .setDest(IpPrefix.of(address.getAddress(), address.getMask())
                                .network()
                                .toString())
                        .setDevice(link.getName())
                        .setScope(LINK)
                        .build());
            }
        }
        return result;
    }

    private static StatusRuntimeException refused(String words) {
        return Status.INTERNAL.withDescription(words).asRuntimeException();
    }
}
