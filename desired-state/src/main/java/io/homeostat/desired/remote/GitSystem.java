package io.homeostat.desired.remote;

import java.io.File;
import org.eclipse.jgit.lib.Config;
import org.eclipse.jgit.lib.ConfigConstants;
import org.eclipse.jgit.storage.file.FileBasedConfig;
import org.eclipse.jgit.util.FS;
import org.eclipse.jgit.util.SystemReader;

/**
 * Has git go by what it is told here alone: no configuration of the machine or of a user counts, and none is written. Each fetch would
 * collect garbage in the background otherwise, in a repository that is removed meanwhile.
 */
final class GitSystem extends SystemReader.Delegate {
    private GitSystem(SystemReader system) {
        super(system);
    }

    /** From here on, in the whole process. */
    static void use() {
        synchronized (GitSystem.class) {
            if (!(SystemReader.getInstance() instanceof GitSystem)) {
                SystemReader.setInstance(new GitSystem(SystemReader.getInstance()));
                LocalGit.use();
            }
        }
    }

    @Override
    public FileBasedConfig openUserConfig(Config parent, FS fs) {
        return new NoConfig(parent, fs);
    }

    @Override
    public FileBasedConfig openSystemConfig(Config parent, FS fs) {
        NoConfig config = new NoConfig(parent, fs);
        config.setInt(ConfigConstants.CONFIG_GC_SECTION, null, ConfigConstants.CONFIG_KEY_AUTO, 0);
        config.setBoolean(ConfigConstants.CONFIG_GC_SECTION, null, ConfigConstants.CONFIG_KEY_AUTODETACH, false);
        return config;
    }

    @Override
    public FileBasedConfig openJGitConfig(Config parent, FS fs) {
        return new NoConfig(parent, fs);
    }

    private static final class NoConfig extends FileBasedConfig {
        NoConfig(Config parent, FS fs) {
            super(parent, new File("/dev/null"), fs);
        }

        @Override
        public void load() {
            // There is nothing to read.
        }

        @Override
        public void save() {
            // Nobody reads it.
        }

        @Override
        public boolean isOutdated() {
            return false;
        }
    }
}
