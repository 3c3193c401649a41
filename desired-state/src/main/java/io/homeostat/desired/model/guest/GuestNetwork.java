package io.homeostat.desired.model.guest;

import com.google.common.collect.ImmutableList;
import java.util.List;

/** The network of a guest, as sets: in which order something is declared makes no difference. */
public record GuestNetwork(List<Interface> interfaces, List<Route> routes, List<Neighbor> neighbors) {
    public GuestNetwork {
        interfaces = ImmutableList.copyOf(interfaces);
        routes = ImmutableList.copyOf(routes);
        neighbors = ImmutableList.copyOf(neighbors);
    }

    /**
     * A link, which the virtual machine has.
     *
     * @param name what it is to be called in the guest
     * @param hwAddr by which it is found, such as 02:00:00:00:00:01
     * @param mtu bytes; 0 leaves it as it is
     * @param addresses each with the length of its prefix
     */
    public record Interface(String name, String hwAddr, int mtu, List<IpPrefix> addresses) {
        public Interface {
            addresses = ImmutableList.copyOf(addresses);
        }
    }

    /**
     * A way out.
     *
     * @param dest of length 0 for the default route
     * @param gateway empty when what is there can be reached directly
     */
    public record Route(IpPrefix dest, String gateway, String device) {}

    /** An address of the link layer that never has to be asked for. */
    public record Neighbor(String address, String lladdr, String device) {}
}
