package io.homeostat.reconcile.command.fleet;

import io.homeostat.desired.etcd.EtcdKeyValues;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValuesException;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.signature.KeyFailure;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.FleetStatusRequest;
import io.homeostat.reconcile.command.Command;
import io.homeostat.reconcile.command.Workspace;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.fleet.FleetMirror;
import io.homeostat.reconcile.fleet.PublishedRollouts;

/** Says of the fleet that an agent is a part of what {@code fleet status} says. Asked of agents only. */
public record FleetStatusCommand() implements Command {
    @Override
    public void write(CommandRequest.Builder request) {
        request.setFleetStatus(FleetStatusRequest.getDefaultInstance());
    }

    @Override
    public int run(Workspace workspace) throws InterruptedException {
        AgentConfig config = workspace.enforcer().config();
        AgentConfig.Etcd etcd = config.sources().etcd();
        if (etcd == null) {
            throw new CommandFailure("this agent knows no fleet: its agent.yaml has no sources.etcd; add it");
        }
        FleetKeys keys = new FleetKeys(etcd.prefix());
        try (KeyValues store = new EtcdKeyValues(etcd)) {
            FleetMirror mirror = new FleetMirror(keys, PublishedRollouts.of(config));
            mirror.replace(mirror.list(store));
            return tell(FleetStatus.of(mirror, workspace.environment().clock().instant()), workspace.console());
        } catch (KeyValuesException | KeyFailure e) {
            throw new CommandFailure(String.valueOf(e.getMessage()), e);
        }
    }

    /** Prints how it is; returns the exit status. */
    public static int tell(FleetStatus status, Console console) {
        status.show(console);
        return status.isWell() ? ExitStatus.OK : ExitStatus.FAILED;
    }
}
