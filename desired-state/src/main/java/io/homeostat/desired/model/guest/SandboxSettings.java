package io.homeostat.desired.model.guest;

import static com.google.common.collect.ImmutableList.toImmutableList;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.schema.Fields.Default;
import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Inline;
import io.homeostat.desired.model.schema.Fields.Location;
import io.homeostat.desired.model.schema.Fields.Matches;
import io.homeostat.desired.model.schema.Fields.Range;
import java.net.URI;
import java.nio.file.Path;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Where a guest is, and what is to be made of it. */
public record SandboxSettings(
        @Doc("Where the agent listens: vsock://CID:PORT, hvsock:///PATH:PORT or unix:///PATH.")
        String endpoint,

        @Doc("What the machine calls itself; the name of the Sandbox when left out.")
        @Matches(
                value = "[A-Za-z0-9]([A-Za-z0-9.-]{0,61}[A-Za-z0-9])?",
                words = "1 to 63 letters, digits, '.' or '-', the first and the last a letter or a digit")
        @Nullable
        String hostname,

        @Doc("Name servers of the machine, by their addresses.")
        ImmutableList<String> dns,

        @Doc("Whether all of its containers see each other's processes.") @Default("false")
        boolean sharedPidNamespace,

        @Inline Network network,

        @Doc("What is mounted in the machine before there is any container.")
        ImmutableList<Storage> storages,

        @Doc("Kernel modules to load, each with its parameters: NAME or 'NAME PARAMETER=VALUE ...'.")
        @Matches(
                value = "[A-Za-z0-9_-]+( [A-Za-z0-9_.-]+(=[^ \\u0000]*)?)*",
                words = "the name of a module, then parameters as NAME=VALUE, each after one blank")
        ImmutableList<String> kernelModules,

        @Doc("What the agent may be asked to do; anything when left out.") @Nullable
        Policy policy) {
    /** All of it that is changed in place. */
    public record Network(
            @Doc("Network interfaces, found by hwAddr, else by name. Changed in place.")
            ImmutableList<Interface> interfaces,

            @Doc("Routes, beside those that the kernel makes for each address. Changed in place.")
            ImmutableList<Route> routes,

            @Doc("Addresses of the link layer that need not be asked for. Changed in place.")
            ImmutableList<Neighbor> neighbors) {
        /** As sets of what is compared. */
        public GuestNetwork toGuestNetwork() {
            return new GuestNetwork(
                    interfaces.stream()
                            .map(one -> new GuestNetwork.Interface(
                                    one.name(),
                                    one.hwAddr(),
                                    one.mtu() == null ? 0 : one.mtu(),
                                    one.addresses().stream()
                                            .map(IpPrefix::parse)
                                            .collect(toImmutableList())))
                            .collect(toImmutableList()),
                    routes.stream()
                            .map(one -> new GuestNetwork.Route(
                                    IpPrefix.parse(one.dest()),
                                    one.gateway() == null ? "" : one.gateway(),
                                    one.device()))
                            .collect(toImmutableList()),
                    neighbors.stream()
                            .map(one -> new GuestNetwork.Neighbor(one.address(), one.lladdr(), one.device()))
                            .collect(toImmutableList()));
        }
    }

    /** A network interface of the machine. */
    public record Interface(
            @Doc("What it is to be called in the machine.")
            @Matches(value = "[^/\\s\\u0000]{1,15}", words = "1 to 15 characters without blanks and '/'")
            String name,

            @Doc("Its address on the link, by which it is found.")
            @Matches(
                    value = "[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}",
                    words = "six bytes in hexadecimal, such as 02:00:00:00:00:01")
            String hwAddr,

            @Doc("The largest packet, in bytes; what it has when left out.") @Range(min = 68, max = 65_536) @Nullable
            Integer mtu,

            @Doc("Its addresses, each with the length of its prefix, such as 10.0.0.2/24.")
            ImmutableList<String> addresses) {}

    /** A way out of the machine. */
    public record Route(
            @Doc("Where it leads, such as 10.1.0.0/16; 0.0.0.0/0 for everywhere else.")
            String dest,

            @Doc("Who forwards; nobody when left out, as what is there can be reached directly.") @Nullable
            String gateway,

            @Doc("The name of the interface.")
            @Matches(value = "[^/\\s\\u0000]{1,15}", words = "1 to 15 characters without blanks and '/'")
            String device) {}

    /** An address on the link that is known without asking. */
    public record Neighbor(
            @Doc("The address of the neighbour, such as 10.0.0.1.")
            String address,

            @Doc("Its address on the link.")
            @Matches(
                    value = "[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}",
                    words = "six bytes in hexadecimal, such as 02:00:00:00:00:01")
            String lladdr,

            @Doc("The name of the interface.")
            @Matches(value = "[^/\\s\\u0000]{1,15}", words = "1 to 15 characters without blanks and '/'")
            String device) {}

    /** What an agent allows. */
    public record Policy(
            @Doc(
                    "A file with rules in Rego, absolute or beside this file. Read at each launch; another content takes a new boot.")
            @Location
            String file) {
        /** Where it is on this machine. */
        public Path path() {
            return Path.of(URI.create(file).getPath());
        }
    }

    /** Where its agent is. */
    public GuestEndpoint agent() {
        return GuestEndpoint.parse(endpoint);
    }

    /** What takes a new boot, without the content of any file. */
    public ImmutableList<String> parts() {
        return ImmutableList.of(
                String.valueOf(hostname),
                String.join("\u0000", dns),
                String.valueOf(sharedPidNamespace),
                storages.stream().map(Storage::words).collect(Collectors.joining("\u0001")),
                String.join("\u0000", kernelModules));
    }
}
