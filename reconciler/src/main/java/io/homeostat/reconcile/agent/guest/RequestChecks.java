package io.homeostat.reconcile.agent.guest;

import io.homeostat.proto.kata.CreateContainerRequest;
import io.homeostat.proto.kata.Process;
import java.nio.file.Files;
import java.util.List;

/** Refuses what can't be done here, before anything is done. */
final class RequestChecks {
    private final GuestPaths paths;
    private final OciRuntime runtime;

    RequestChecks(GuestPaths paths, OciRuntime runtime) {
        this.paths = paths;
        this.runtime = runtime;
    }

    void check(CreateContainerRequest request) {
        String id = request.getContainerId();
        if (!GuestPaths.isId(id)) {
            throw Refusals.internal("invalid container ID " + id
                    + ": it has 2 to 200 letters, digits, '.', '_' and '-', and begins with one of the first two");
        }
        if (!Files.exists(paths.sandboxMark())) {
            throw Refusals.internal("there is no sandbox; CreateSandbox comes first");
        }
        if (request.getSandboxPidns()) {
            throw Refusals.unsupported("containers do not share their processes here; leave out sandbox_pidns");
        }
        if (request.getDevicesCount() > 0 || request.getSharedMountsCount() > 0 || request.hasStringUser()) {
            throw Refusals.unsupported("devices, shared mounts and users by name are not supported");
        }
        if (request.getStdinPort() != 0 || request.getStdoutPort() != 0 || request.getStderrPort() != 0) {
            throw Refusals.unsupported("standard streams have no ports here; read and write them by calls");
        }
        if (request.getOCI().hasHooks()) {
            throw Refusals.unsupported("no hooks are run");
        }
        if (!request.getOCI().getRoot().getPath().startsWith("/")) {
            throw Refusals.internal("the root file system has no absolute path");
        }
        check(request.getOCI().getProcess());
    }

    void check(Process process) {
        if (process.getArgsCount() == 0) {
            throw Refusals.internal("there is no command to run");
        }
        for (List<String> names : List.of(
                process.getCapabilities().getBoundingList(),
                process.getCapabilities().getEffectiveList(),
                process.getCapabilities().getInheritableList(),
                process.getCapabilities().getPermittedList(),
                process.getCapabilities().getAmbientList())) {
            for (String name : names) {
                if (!runtime.knowsCapability(name.startsWith("CAP_") ? name : "CAP_" + name)) {
                    throw Refusals.internal("the runtime knows no capability " + name);
                }
            }
        }
    }
}
