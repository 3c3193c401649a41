package io.homeostat.observe.process;

import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Phase;
import io.homeostat.desired.state.ProcessIdentity;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.ObservedInstance.Loss;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** Which files that a started process needs were deleted under it. A few reads of directory entries; the process is not asked. */
public final class Losses {
    /** Where stat(2) tells the type of a file. */
    private static final int TYPE = 0170000;

    private static final int SOCKET = 0140000;

    private final Layout layout;
    private final LogObserver logs;

    public Losses(Layout layout, ProcFs procFs) {
        this.layout = layout;
        this.logs = new LogObserver(procFs);
    }

    /** The same process with all that it has lost. What can't be looked at is taken to be there: a guess would cost a restart. */
    public Running of(Instance instance, Running running) {
        if (instance.phase() != Phase.STARTED || !(running.identity() instanceof ProcessIdentity main)) {
            return running;
        }
        Observation<Boolean> log = logs.present(
                layout.log(instance.workload()),
                new LaunchDirectory(layout.launch(instance.workload(), instance.launchId())),
                main.pid());
        if (!(log instanceof Observation.Seen<Boolean>(Boolean present)) || present) {
            return running;
        }
        ImmutableSet<Loss> lost = ImmutableSet.<Loss>builder()
                .addAll(running.lost())
                .add(Loss.LOG)
                .build();
        return new Running(running.identity(), running.age(), running.listening(), running.health(), lost);
    }

    /** Whether a socket is there; also where that can't be told. */
    public static boolean isSocket(Path socket) {
        try {
            return ((int) Files.getAttribute(socket, "unix:mode", LinkOption.NOFOLLOW_LINKS) & TYPE) == SOCKET;
        } catch (NoSuchFileException e) {
            return false;
        } catch (IOException e) {
            return true;
        }
    }
}
