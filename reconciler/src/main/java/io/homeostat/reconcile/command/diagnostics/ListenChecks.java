package io.homeostat.reconcile.command.diagnostics;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.collect.ImmutableList;
import com.google.common.net.HostAndPort;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.Layout;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.process.PortOwners;
import io.homeostat.observe.process.PortOwners.Owner;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.command.diagnostics.Doctor.Finding;
import io.homeostat.reconcile.command.environment.AgentFile;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;
import java.nio.channels.UnsupportedAddressTypeException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** Whether the agent can serve, or serves, where the configuration wants it to. Nothing listens meanwhile. */
public final class ListenChecks {
    private static final String UNIX = "unix:";

    private final ProcFs procFs = new ProcFs();
    private final Layout layout;

    private ListenChecks(Layout layout) {
        this.layout = layout;
    }

    /** Looks at the addresses that are not empty. */
    public static ImmutableList<Finding> look(AgentConfig config, Layout layout) {
        ListenChecks checks = new ListenChecks(layout);
        ImmutableList.Builder<Finding> findings = ImmutableList.builder();
        String metrics = config.metrics().listen();
        if (metrics.startsWith(UNIX)) {
            findings.add(socket(Path.of(metrics.substring(UNIX.length()))));
        } else if (!metrics.isEmpty()) {
            findings.add(checks.port("metrics", metrics, false));
            config.metrics()
                    .warning()
                    .ifPresent(warning -> findings.add(
                            Finding.warn("metrics", warning, "choose another metrics.listen in agent.yaml")));
        }
        String page = config.ui().listen();
        if (page.equals(metrics) && !page.isEmpty()) {
            findings.add(Finding.warn(
                    "page",
                    "it is to be served at " + page + ", as metrics are; the agent serves one of them",
                    "choose another port for ui.listen in agent.yaml"));
        } else if (!page.isEmpty()) {
            findings.add(checks.port("page", page, true));
        }
        return findings.build();
    }

    private static Finding socket(Path socket) {
        if (socket.toString().getBytes(UTF_8).length > Layout.MAX_SOCKET_PATH || Files.isDirectory(socket)) {
            return Finding.warn(
                    "metrics",
                    socket + " is " + (Files.isDirectory(socket) ? "a directory" : "longer than a socket's path can be")
                            + "; the agent goes on without",
                    "name another socket in agent.yaml");
        }
        Path directory = socket.resolveSibling("");
        return Files.isDirectory(directory) && Files.isWritable(directory)
                ? Finding.ok("metrics", "a socket can be made in " + directory)
                : Finding.warn(
                        "metrics",
                        directory + " is no directory that this user can write to; the agent goes on without",
                        "make it, or name another socket in agent.yaml");
    }

    private Finding port(String check, String listen, boolean onlyLoopback) {
        HostAndPort wanted = HostAndPort.fromString(listen);
        InetSocketAddress address = new InetSocketAddress(wanted.getHost(), wanted.getPort());
        if (address.isUnresolved() || (onlyLoopback && !address.getAddress().isLoopbackAddress())) {
            return Finding.warn(
                    check,
                    wanted.getHost()
                            + (address.isUnresolved()
                                    ? " is not known here"
                                    : " is " + address.getAddress().getHostAddress() + ", no loopback address")
                            + "; the agent goes on without",
                    "write an address by number, such as 127.0.0.1:" + wanted.getPort());
        }
        Optional<AgentFile> agent = agent();
        try (SocketChannel unconnected = SocketChannel.open()) {
            unconnected.setOption(StandardSocketOptions.SO_REUSEADDR, true).bind(address);
        } catch (UnsupportedAddressTypeException e) {
            return unbound(check, listen, address, agent, new IOException("this host has no such addresses", e));
        } catch (IOException e) {
            return unbound(check, listen, address, agent, e);
        }
        if (agent.isEmpty() || wanted.getPort() == 0) {
            return Finding.ok(check, listen + " is free");
        }
        long pid = agent.get().identity().pid();
        return Finding.warn(
                check,
                "the agent (pid " + pid + ") serves nothing at " + listen,
                "have it read its configuration: kill -HUP " + pid + "; homeostat status then says what is wrong");
    }

    private static boolean isInUse(IOException why) {
        return why instanceof BindException && String.valueOf(why.getMessage()).contains("in use");
    }

    private Optional<AgentFile> agent() {
        try {
            return AgentFile.running(layout, procFs);
        } catch (IOException e) {
            // The check of the agent itself says so.
            return Optional.empty();
        }
    }

    /** Most often the agent itself is the reason, and all is well. */
    private Finding unbound(
            String check, String listen, InetSocketAddress address, Optional<AgentFile> agent, IOException why) {
        PortOwners owners = new PortOwners(layout, procFs, new LimitObserver(CgroupLayout.NONE));
        return switch (owners.of(agent.map(AgentFile::identity), address)) {
            case Owner.Own _ ->
                Finding.ok(
                        check,
                        "the agent (pid " + agent.orElseThrow().identity().pid() + ") serves at " + listen);
            case Owner.Other(String words) ->
                Finding.warn(
                        check,
                        listen + " is taken by " + words + "; the agent goes on without",
                        "end that, or choose another port in agent.yaml");
            case Owner.Unknown _, Owner.Gone _ ->
                Finding.warn(
                        check,
                        "this user can't listen at " + listen + ": " + CommandFailure.reason(why)
                                + "; the agent goes on without",
                        isInUse(why)
                                ? "ss -ltnp as root says who does; end that, or choose another port in agent.yaml"
                                : "choose another address or port in agent.yaml");
        };
    }
}
