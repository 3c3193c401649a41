package io.homeostat.actuate.task;

import io.homeostat.actuate.Mounts;

/** As the kernel is to whoever may not mount: EPERM. */
final class Forbidden implements Mounts.Kernel {
    private static final int EPERM = 1;

    @Override
    public int mount(String source, String directory, String type, long flags, String options) {
        return -EPERM;
    }

    @Override
    public int detach(String directory) {
        return -EPERM;
    }

    @Override
    public int unshareNetwork() {
        return -EPERM;
    }
}
