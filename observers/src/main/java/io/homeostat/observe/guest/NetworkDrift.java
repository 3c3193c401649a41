package io.homeostat.observe.guest;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSetMultimap;
import com.google.common.collect.Iterables;
import com.google.common.collect.LinkedHashMultiset;
import com.google.common.collect.Multiset;
import com.google.common.net.InetAddresses;
import com.google.common.primitives.Ints;
import io.homeostat.desired.model.guest.GuestNetwork;
import io.homeostat.desired.model.guest.IpPrefix;
import io.homeostat.proto.kata.types.IPAddress;
import io.homeostat.proto.kata.types.IPFamily;
import io.homeostat.proto.kata.types.Interface;
import io.homeostat.proto.kata.types.Route;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * How the network of a guest differs from what is declared, as far as its agent can be asked. Neighbours can't be read back.
 *
 * @param interfaces to be sent, with the MTU that they have where none is declared; after that their routes and neighbours are gone and have to be sent again
 * @param routes whether all routes have to be sent: the agent adds and replaces
 * @param differences for people: what is not as declared, and what is sent will put right
 * @param remarks for people: what is there and should not be, which the agent can't remove, and what is missing that it can't make
 */
public record NetworkDrift(
        List<GuestNetwork.Interface> interfaces, boolean routes, List<String> differences, List<String> remarks) {
    private static final String LOOPBACK = "lo";
    /** Interfaces, addresses of each, and routes: what is beyond that no virtual machine has, and each costs time. */
    private static final int MOST_LOOKED_AT = 10_000;

    private static final int MOST_REMARKS = 50;

    public NetworkDrift {
        interfaces = ImmutableList.copyOf(interfaces);
        differences = ImmutableList.copyOf(differences);
        remarks = ImmutableList.copyOf(remarks);
    }

    /** Whether nothing has to be sent. There may be remarks all the same. */
    public boolean isEmpty() {
        return interfaces.isEmpty() && !routes;
    }

    /**
     * Compares.
     *
     * @param all what ListInterfaces has answered
     * @param routes what ListRoutes has answered
     */
    public static NetworkDrift of(GuestNetwork declared, List<Interface> all, List<Route> routes) {
        List<Interface> links = all.subList(0, Math.min(all.size(), MOST_LOOKED_AT));
        List<Route> table = routes.subList(0, Math.min(routes.size(), MOST_LOOKED_AT));
        List<String> differences = new ArrayList<>();
        List<String> remarks = new ArrayList<>();
        List<GuestNetwork.Interface> send = new ArrayList<>();
        Set<Interface> known = new HashSet<>();
        for (GuestNetwork.Interface wanted : declared.interfaces()) {
            Optional<Interface> found = find(wanted, links);
            if (found.isEmpty()) {
                remarks.add("there is no interface " + wanted.hwAddr() + " for " + wanted.name()
                        + "; give the virtual machine one");
                continue;
            }
            Interface link = found.get();
            known.add(link);
            Set<IpPrefix> missing = new HashSet<>(wanted.addresses());
            for (IpPrefix address : addresses(link)) {
                if (!missing.remove(address) && !address.address().isLinkLocalAddress()) {
                    remarks.add(wanted.name() + " has the address " + address
                            + ", which is not declared; the agent can't remove it, a new boot of the guest does");
                }
            }
            List<String> here = new ArrayList<>();
            if (!link.getName().equals(wanted.name())) {
                here.add(wanted.name() + " is called " + GuestText.of(link.getName()));
            }
            missing.stream()
                    .map(IpPrefix::toString)
                    .sorted()
                    .forEach(address -> here.add(wanted.name() + " lacks the address " + address));
            if (differs(wanted.mtu(), link.getMtu())) {
                here.add(wanted.name() + " has an MTU of " + Long.toUnsignedString(link.getMtu()) + " instead of "
                        + wanted.mtu());
            }
            if (!here.isEmpty()) {
                send.add(withMtu(wanted, link));
                differences.addAll(here);
            }
        }
        for (Interface link : links) {
            if (!known.contains(link) && !link.getName().equals(LOOPBACK)) {
                String name = GuestText.of(link.getName());
                addresses(link).stream()
                        .filter(address -> !address.address().isLinkLocalAddress())
                        .forEach(address -> remarks.add("the interface " + name + " with " + address
                                + " is not declared; the agent can't remove it"));
            }
        }
        boolean lost = !send.isEmpty() && !declared.routes().isEmpty();
        boolean missing = compareRoutes(declared, links, table, differences, remarks);
        if (remarks.size() > MOST_REMARKS) {
            List<String> more = remarks.subList(MOST_REMARKS, remarks.size());
            String count = "and " + more.size() + " more that are not declared";
            more.clear();
            remarks.add(count);
        }
        return new NetworkDrift(send, lost || missing, differences, remarks);
    }

    /** As the agent does it: by the address of the link, else by the name. */
    private static Optional<Interface> find(GuestNetwork.Interface wanted, List<Interface> links) {
        return links.stream()
                .filter(link -> link.getHwAddr().equalsIgnoreCase(wanted.hwAddr()))
                .findFirst()
                .or(() -> links.stream()
                        .filter(link -> link.getName().equals(wanted.name()))
                        .findFirst());
    }

    /** The agent sets what it is sent, also where nothing is declared. */
    private static GuestNetwork.Interface withMtu(GuestNetwork.Interface wanted, Interface link) {
        return wanted.mtu() != 0
                ? wanted
                : new GuestNetwork.Interface(
                        wanted.name(), wanted.hwAddr(), Ints.saturatedCast(link.getMtu()), wanted.addresses());
    }

    private static boolean differs(int wanted, long mtu) {
        return wanted != 0 && wanted != mtu;
    }

    /** Which family an address is of its text tells: agents swap the two. One that can't be read is none. */
    private static List<IpPrefix> addresses(Interface link) {
        List<IpPrefix> result = new ArrayList<>();
        for (IPAddress address : Iterables.limit(link.getIPAddressesList(), MOST_LOOKED_AT)) {
            prefix(address.getAddress(), address.getMask()).ifPresent(result::add);
        }
        return result;
    }

    private static Optional<IpPrefix> prefix(String address, String length) {
        try {
            return Optional.of(IpPrefix.of(address, length));
        } catch (IllegalArgumentException e) {
            // From the guest, which is not trusted to say anything sensible.
            return Optional.empty();
        }
    }

    /** What can be told of a route: agents don't tell where one with a gateway leads, so that only the number of those is known. */
    private sealed interface Key {
        record Gateway(String address, String device) implements Key {
            @Override
            public String toString() {
                return "a route by " + GuestText.of(address) + " on " + GuestText.of(device);
            }
        }

        record Direct(IpPrefix dest, String device) implements Key {
            @Override
            public String toString() {
                return "the route to " + dest + " on " + GuestText.of(device);
            }
        }

        static Key of(GuestNetwork.Route route) {
            return route.gateway().isEmpty()
                    ? new Direct(route.dest().network(), route.device())
                    : new Gateway(canonical(route.gateway()), route.device());
        }

        static Optional<Key> of(Route route) {
            if (!route.getGateway().isEmpty()) {
                return Optional.of(new Gateway(canonical(route.getGateway()), route.getDevice()));
            }
            if (route.getDest().isEmpty()) {
                IpPrefix all = IpPrefix.parse(route.getFamily() == IPFamily.v6 ? "::/0" : "0.0.0.0/0");
                return Optional.of(new Direct(all, route.getDevice()));
            }
            int slash = route.getDest().indexOf('/');
            return slash < 0
                    ? Optional.empty()
                    : prefix(
                                    route.getDest().substring(0, slash),
                                    route.getDest().substring(slash + 1))
                            .map(dest -> new Direct(dest.network(), route.getDevice()));
        }

        private static String canonical(String address) {
            // A zone would be looked up among the interfaces of this machine.
            return InetAddresses.isInetAddress(address) && !address.contains("%")
                    ? InetAddresses.toAddrString(InetAddresses.forString(address))
                    : address;
        }
    }

    private static boolean compareRoutes(
            GuestNetwork declared,
            List<Interface> links,
            List<Route> table,
            List<String> differences,
            List<String> remarks) {
        Multiset<Key> missing = LinkedHashMultiset.create();
        Set<Key> untold = new HashSet<>();
        for (GuestNetwork.Route route : declared.routes()) {
            (isTold(route) ? missing : untold).add(Key.of(route));
        }
        // As texts, which can be compared: a guest may have chosen addresses that all have the same hash.
        ImmutableSetMultimap<String, String> networks = links.stream()
                .collect(ImmutableSetMultimap.flatteningToImmutableSetMultimap(
                        Interface::getName,
                        link -> addresses(link).stream()
                                .map(address -> address.network().toString())));
        for (Route route : table) {
            Key.of(route)
                    .filter(key -> !missing.remove(key) && !untold.contains(key) && !isMadeByKernel(key, networks))
                    .ifPresent(key -> remarks.add(
                            key + " is not declared; the agent can't remove it, a new boot of the guest does"));
        }
        missing.forEach(key -> differences.add(key + " is missing"));
        return !missing.isEmpty();
    }

    /** Agents tell of no route to everywhere without a gateway. */
    public static boolean isTold(GuestNetwork.Route route) {
        return route.dest().length() > 0 || !route.gateway().isEmpty();
    }

    /** The kernel makes a route to the network of each address, and to what is local to a link. */
    private static boolean isMadeByKernel(Key key, ImmutableSetMultimap<String, String> networks) {
        return key instanceof Key.Direct(IpPrefix dest, String device)
                && (dest.address().isLinkLocalAddress()
                        || dest.address().isMulticastAddress()
                        || networks.containsEntry(device, dest.toString()));
    }
}
